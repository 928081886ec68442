module diwan/objects

go 1.22
