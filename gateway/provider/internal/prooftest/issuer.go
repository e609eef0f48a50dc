package prooftest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"
)

// Issuer is a certificate authority.
type Issuer struct {
	Certificate *x509.Certificate
	key         *rsa.PrivateKey
}

// NewIssuer creates an authority with a certificate signed by above, or a root authority if above
// is nil.
func NewIssuer(above *Issuer) *Issuer {
	key := Must(rsa.GenerateKey(rand.Reader, 2048))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: Now().AddDate(-1, 0, 0), NotAfter: Now().AddDate(1, 0, 0), KeyUsage: x509.KeyUsageCertSign,
	}
	parent, signer := template, key
	if above != nil {
		template.Subject.CommonName = "authority between"
		parent, signer = above.Certificate, above.key
	}
	der := Must(x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer))
	return &Issuer{Must(x509.ParseCertificate(der)), key}
}

// Leaf returns a PEM certificate for the tests' RSA key, signed by the authority.
func (i *Issuer) Leaf(name string, until time.Time, issuers ...string) []byte {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: Now().AddDate(-1, 0, 0), NotAfter: until, IssuingCertificateURL: issuers,
	}
	return certificatePEM(Must(x509.CreateCertificate(rand.Reader, template, i.Certificate, RSAKey().Public(), i.key)))
}

// PEM returns the authority's own certificate.
func (i *Issuer) PEM() []byte { return certificatePEM(i.Certificate.Raw) }

// SelfSigned returns a self-signed certificate for key, in PEM.
func SelfSigned(name string, key crypto.Signer, until time.Time) []byte {
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: Now().AddDate(-1, 0, 0), NotAfter: until}
	return certificatePEM(Must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)))
}

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
