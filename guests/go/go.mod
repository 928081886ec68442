module diwan/object

go 1.24
