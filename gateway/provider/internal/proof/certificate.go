package proof

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// maxChain is the maximum number of certificates that are read from one document.
const maxChain = 10

// Certificates checks a sender's certificate against trusted authorities.
type Certificates struct {
	Roots *x509.CertPool // nil: the system's authorities
	// Names lists the allowed host names; the certificate must have at least one of them.
	// Empty: any name.
	Names []string
}

// RSAKey verifies a PEM chain and returns its first certificate's key. Errors: *VerifyError
// (wrong_certificate).
func (c Certificates) RSAKey(chain []byte, now time.Time) (*rsa.PublicKey, error) {
	refuse := func(why string) error {
		return &provider.VerifyError{Reason: provider.ReasonWrongCertificate, Detail: why}
	}
	var leaf *x509.Certificate
	intermediates := x509.NewCertPool()
	for range maxChain {
		var block *pem.Block
		if block, chain = pem.Decode(chain); block == nil {
			break
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, refuse("cannot be read")
		}
		if leaf == nil {
			leaf = certificate
			continue
		}
		intermediates.AddCert(certificate)
	}
	if leaf == nil {
		return nil, refuse("is not PEM")
	}
	options := x509.VerifyOptions{
		Roots: c.Roots, Intermediates: intermediates, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	}
	if _, err := leaf.Verify(options); err != nil {
		if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
			return nil, refuse("is not valid at this time")
		}
		return nil, refuse("is not signed by a trusted authority")
	}
	if !c.named(leaf) {
		return nil, refuse("was issued for another name")
	}
	key, ok := leaf.PublicKey.(*rsa.PublicKey)
	if !ok {
		return nil, refuse("has no RSA key")
	}
	return key, nil
}

func (c Certificates) named(leaf *x509.Certificate) bool {
	for _, name := range c.Names {
		if leaf.VerifyHostname(name) == nil {
			return true
		}
	}
	return len(c.Names) == 0
}
