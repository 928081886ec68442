package objects

import (
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
)

const tokenFileBytesMax = 4096

var tokenForm = regexp.MustCompile(`^diwan_[0-9a-f]{64}$`)

// credentials say who asks: a token, or a file with one that may be replaced while it is used.
type credentials struct {
	file string

	mutex sync.Mutex
	token string
}

// credentialsOf takes the token by name, from a file, or from DIWAN_TOKEN or the file that DIWAN_TOKEN_FILE names.
func credentialsOf(token, file string) (*credentials, error) {
	if token != "" && file != "" {
		return nil, errors.New("diwan: a token or a file with one, not both")
	}
	if token == "" && file == "" {
		if token = strings.TrimSpace(os.Getenv("DIWAN_TOKEN")); token == "" {
			file = os.Getenv("DIWAN_TOKEN_FILE")
		}
	}
	if file != "" {
		var err error
		if token, err = readToken(file); err != nil {
			return nil, err
		}
	}
	if (token != "" || file != "") && !tokenForm.MatchString(token) {
		return nil, errors.New("diwan: a token is `diwan_` and 64 hexadecimal digits: `diwan object token create` makes one")
	}
	return &credentials{file: file, token: token}, nil
}

func readToken(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, tokenFileBytesMax))
	return strings.TrimSpace(string(text)), err
}

// sign says who asks, and gives the token by which.
func (c *credentials) sign(asked *http.Request) string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.token != "" {
		asked.Header.Set("Authorization", "Bearer "+c.token)
	}
	return c.token
}

// replaced says whether the file has another token by now than the one that was refused. What it has is used from then on.
func (c *credentials) replaced(refused string) bool {
	if c.file == "" {
		return false
	}
	token, err := readToken(c.file)
	if err != nil {
		return false
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if tokenForm.MatchString(token) {
		c.token = token
	}
	// Another request may have found it already.
	return c.token != refused
}
