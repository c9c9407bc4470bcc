package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
)

// tlsFiles are the files that a rediss:// URL may name beside go-redis' own options.
type tlsFiles struct{ ca, cert, key string }

// takeTLSFiles takes tls_ca, tls_cert and tls_key out of a URL.
func takeTLSFiles(u *url.URL) (tlsFiles, error) {
	query := u.Query()
	f := tlsFiles{query.Get("tls_ca"), query.Get("tls_cert"), query.Get("tls_key")}
	if f == (tlsFiles{}) {
		return f, nil
	}
	if u.Scheme != "rediss" {
		return f, errors.New("tls_ca, tls_cert and tls_key go with rediss://")
	}
	if (f.cert == "") != (f.key == "") {
		return f, errors.New("tls_cert and tls_key go together")
	}
	for _, name := range []string{"tls_ca", "tls_cert", "tls_key"} {
		query.Del(name)
	}
	u.RawQuery = query.Encode()
	return f, nil
}

// apply adds the files to what the URL has made of TLS.
func (f tlsFiles) apply(config *tls.Config) error {
	if f.ca != "" {
		text, err := os.ReadFile(f.ca)
		if err != nil {
			return fmt.Errorf("tls_ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("tls_ca: %s holds no certificate in PEM form", f.ca)
		}
	}
	if f.cert == "" {
		return nil
	}
	if _, err := tls.LoadX509KeyPair(f.cert, f.key); err != nil {
		return fmt.Errorf("tls_cert, tls_key: %w", err)
	}
	// Read again for every connection, so that renewed files need no restart.
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		return &pair, err
	}
	return nil
}
