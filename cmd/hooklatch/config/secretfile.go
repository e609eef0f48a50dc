package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// maxSecretFile is far above any secret; a larger file is another one.
const maxSecretFile = 64 << 10

// readSecretFiles puts the secrets of every *_file beside it.
func (c *Config) readSecretFiles(d *decoder) {
	d.one("database.url", &c.Database.URL, c.Database.URLFile)
	d.one("database.direct_url", &c.Database.DirectURL, c.Database.DirectURLFile)
	d.one("admin.token", &c.Admin.Token, c.Admin.TokenFile)
	for name, s := range c.Sources {
		d.sourceSecrets(join("sources", name)+".secrets", &s)
		c.Sources[name] = s
	}
	for name, dest := range c.Destinations {
		at := join("destinations", name)
		if h := dest.HTTP; h != nil {
			d.one(at+".http.bearer", &h.Bearer, h.BearerFile)
			if h.Basic != nil {
				d.one(at+".http.basic.password", &h.Basic.Password, h.Basic.PasswordFile)
			}
			if h.Sign != nil {
				d.many(at+".http.sign.standard_webhooks", &h.Sign.StandardWebhooks, h.Sign.StandardWebhooksFile)
			}
		}
		if m := dest.SMTP; m != nil {
			d.one(at+".smtp.password", &m.Password, m.PasswordFile)
		}
	}
	for i, r := range c.Routes {
		if r.Refetch != nil {
			d.one("routes["+strconv.Itoa(i)+"].refetch.bearer", &r.Refetch.Bearer, r.Refetch.BearerFile)
		}
	}
}

// one reads the file of a single secret into value. Line breaks at the end
// are not part of it.
func (d *decoder) one(path string, value *secret.Value, file string) {
	if file == "" {
		return
	}
	if !value.IsZero() {
		d.atMostOne(path)
		return
	}
	d.oneFrom(path+"_file", value, file)
}

// oneFrom reads the file that the field at path names.
func (d *decoder) oneFrom(path string, value *secret.Value, file string) {
	text := strings.TrimRight(d.readFile(path, file), "\r\n")
	if strings.ContainsAny(text, "\r\n") {
		d.reportf(path, "the file has several lines; the secret alone is expected")
		return
	}
	*value = secret.New(text)
}

// sourceSecrets reads the files of a source's secrets: one for all of them, or
// one for each.
func (d *decoder) sourceSecrets(path string, s *Source) {
	if s.SecretsFile != "" && len(s.Secrets) > 0 {
		d.atMostOne(path)
		return
	}
	var lines []secret.Value
	d.many(path, &lines, s.SecretsFile)
	for _, line := range lines {
		s.Secrets = append(s.Secrets, Secret{Value: line})
	}
	for i := range s.Secrets {
		one := &s.Secrets[i]
		file := path + "[" + strconv.Itoa(i) + "].file"
		switch {
		case one.File == "":
		case !one.Value.IsZero():
			d.reportf(file, "at most one of value and file may be given")
		default:
			d.oneFrom(file, &one.Value, one.File)
		}
	}
}

// many reads a file with one secret in each line into values.
func (d *decoder) many(path string, values *[]secret.Value, file string) {
	if file == "" {
		return
	}
	if len(*values) > 0 {
		d.atMostOne(path)
		return
	}
	for line := range strings.Lines(d.readFile(path+"_file", file)) {
		if line = strings.TrimSpace(line); line != "" {
			*values = append(*values, secret.New(line))
		}
	}
}

func (d *decoder) atMostOne(path string) {
	name := path[strings.LastIndexByte(path, '.')+1:]
	d.reportf(path+"_file", "at most one of %s and %s_file may be given", name, name)
}

// readFile returns the text of a file, or reports why there is none. The name
// is not repeated: whoever mistook x_file for x has written the secret there.
func (d *decoder) readFile(path, file string) string {
	if !filepath.IsAbs(file) {
		file = filepath.Join(d.dir, file)
	}
	// A device or a pipe might never end.
	switch info, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		d.reportf(path, "the file does not exist")
		return ""
	case err != nil:
		d.reportf(path, "the file cannot be read")
		return ""
	case !info.Mode().IsRegular():
		d.reportf(path, "is not a regular file")
		return ""
	case writableByAll(info):
		d.reportf(path, "the file may be written by every user of this machine (mode %s); take that right away: chmod o-w", mode(info))
		return ""
	case info.Size() > maxSecretFile:
		d.reportf(path, "the file has %d bytes; a file of secrets has at most %d", info.Size(), maxSecretFile)
		return ""
	case readableByAll(info):
		d.warnings = append(d.warnings, d.origin.problem(path, "the file "+readable(info)))
	}
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrPermission):
		d.reportf(path, "the file may not be read by this user")
	case err != nil:
		d.reportf(path, "the file cannot be read")
	case strings.TrimSpace(string(data)) == "":
		d.reportf(path, "the file is empty")
	default:
		return string(data)
	}
	return ""
}
