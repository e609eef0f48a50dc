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

// Issuer is an authority that vouches for certificates.
type Issuer struct {
	Certificate *x509.Certificate
	key         *rsa.PrivateKey
}

// NewIssuer makes an authority, under another one unless that is nil.
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

// Leaf is a certificate of the RSA key of the tests, in PEM.
func (i *Issuer) Leaf(name string, until time.Time, issuers ...string) []byte {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: Now().AddDate(-1, 0, 0), NotAfter: until, IssuingCertificateURL: issuers,
	}
	return certificatePEM(Must(x509.CreateCertificate(rand.Reader, template, i.Certificate, RSAKey().Public(), i.key)))
}

// PEM is the certificate of the authority itself.
func (i *Issuer) PEM() []byte { return certificatePEM(i.Certificate.Raw) }

// SelfSigned is a certificate of a key that vouches for itself.
func SelfSigned(name string, key crypto.Signer, until time.Time) []byte {
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: Now().AddDate(-1, 0, 0), NotAfter: until}
	return certificatePEM(Must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)))
}

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
