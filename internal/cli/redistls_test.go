package cli

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/redistest"
)

// certificates writes a CA and one certificate that serves both ends.
func certificates(t *testing.T) (ca, cert, key string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, root, root, &caKey.PublicKey, caKey)
	must(err)
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, root, &own.PublicKey, caKey)
	must(err)
	keyDER, err := x509.MarshalECPrivateKey(own)
	must(err)
	return write("ca.pem", "CERTIFICATE", caDER), write("cert.pem", "CERTIFICATE", der), write("key.pem", "EC PRIVATE KEY", keyDER)
}

// A server that speaks TLS and asks for a certificate is reached with the files that
// the URL names, and not without.
func TestTLSWithClientCertificate(t *testing.T) {
	t.Parallel()
	ca, cert, key := certificates(t)
	port := redistest.FreePort(t)
	redistest.NewReal(t, "--save", "", "--tls-port", fmt.Sprint(port), "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-ca-cert-file", ca, "--tls-auth-clients", "yes")
	base := fmt.Sprintf("rediss://127.0.0.1:%d/0", port)
	ping := func(url string) error {
		target, err := parseRedisURL(url)
		if err != nil {
			return err
		}
		rdb := target.client(true)
		defer rdb.Close()
		return rdb.Ping(context.Background()).Err()
	}
	if err := ping(base + "?tls_ca=" + ca + "&tls_cert=" + cert + "&tls_key=" + key); err != nil {
		t.Errorf("with all files: %v", err)
	}
	if err := ping(base + "?tls_cert=" + cert + "&tls_key=" + key); err == nil {
		t.Error("a server is trusted that no known CA vouches for")
	}
	if err := ping(base + "?tls_ca=" + ca); err == nil {
		t.Error("the server takes a client without a certificate")
	}
	for url, want := range map[string]string{
		"redis://127.0.0.1:1/0?tls_ca=" + ca: "rediss://", base + "?tls_cert=" + cert: "go together",
		base + "?tls_ca=/nowhere": "/nowhere", base + "?tls_ca=" + key: "no certificate",
		base + "?tls_cert=" + key + "&tls_key=" + cert: "tls_cert",
	} {
		if _, err := parseRedisURL(url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error about %q", url, err, want)
		}
	}
}
