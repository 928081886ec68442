package objects

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
)

// TLS makes the option of the same name: it trusts the authorities in one file (the system's if there is none), and shows
// the certificate in the other (PEM, with its key), if there is one.
func TLS(authorities, certificate string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities != "" {
		trusted, err := os.ReadFile(authorities)
		if err != nil {
			return nil, fmt.Errorf("diwan: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(trusted) {
			return nil, fmt.Errorf("diwan: `%s` holds no certificate", authorities)
		}
	}
	if certificate != "" {
		own, err := tls.LoadX509KeyPair(certificate, certificate)
		if err != nil {
			return nil, fmt.Errorf("diwan: %w", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}

// isUnencrypted says whether one side refuses the other's certificate or encryption: nothing of a request was looked at then.
func isUnencrypted(err error) bool {
	var untrusted *tls.CertificateVerificationError
	var foreign tls.RecordHeaderError
	var alert *net.OpError
	return errors.As(err, &untrusted) || errors.As(err, &foreign) || errors.Is(err, http.ErrSchemeMismatch) ||
		errors.As(err, &alert) && alert.Op == "remote error"
}

// noTLS is how a call ends with which no member agrees on encryption: asking again changes nothing.
func noTLS(err error, unanswered bool) error {
	effect := "none"
	if unanswered {
		effect = "unknown"
	}
	return &Problem{Slug: "no-tls", Detail: err.Error(), Effect: effect, Retry: "no"}
}
