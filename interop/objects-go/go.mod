module suite

go 1.22

require diwan/objects v0.0.0

replace diwan/objects => ../../clients/go
