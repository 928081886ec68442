module TYPE_NAME

go 1.24

require diwan/object v0.0.0

// `diwan object new` copied the library here.
replace diwan/object => ./diwan-object
