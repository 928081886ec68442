// Made by clients/generate/main.py.

package objects

import "encoding/json"

// Entry is an entry of a map.
type Entry struct {
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Version int64           `json:"version"`
}

// Item is an item of a queue.
type Item struct {
	ID      int64           `json:"id"`
	Item    json.RawMessage `json:"item"`
	Attempt int64           `json:"attempt"`
}

// Member is a member of a membership.
type Member struct {
	Name    string          `json:"name"`
	Data    json.RawMessage `json:"data"`
	Session string          `json:"session"`
	Since   int64           `json:"since"`
}

// NameRecords is a name and its records.
type NameRecords struct {
	Name    string            `json:"name"`
	Records []json.RawMessage `json:"records"`
}
