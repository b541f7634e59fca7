package irso

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"
)

// certSecret is a Secret of a certificate and, where that has a name, of an authority.
func certSecret(t testing.TB, cert, authority string) string {
	t.Helper()
	return fmt.Sprintf(`{"data":{"tls.crt":%q,"ca.crt":%q,"tls.key":"c2VjcmV0"}}`, encoded(t, cert), encoded(t, authority))
}

func encoded(t testing.TB, name string) string {
	t.Helper()
	if name == "" {
		return ""
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
