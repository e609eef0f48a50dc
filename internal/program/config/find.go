package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Paths that Find tries if no file is named.
const (
	DefaultPath = "hooklatch.yaml"
	DevPath     = ".hooklatch/dev.yaml" // written by the dev command
)

// InstalledPath is the path of the configuration file in the image and in the systemd units.
const InstalledPath = "/etc/hooklatch/hooklatch.yaml"

// toInstall explains how to install a file at InstalledPath.
const toInstall = `; write one with at least these lines:

` + smallest + `
In a container, mount it there:
  docker run -v ./hooklatch.yaml:` + InstalledPath + ":ro --env-file .env IMAGE"

// smallest is a configuration that forwards the events of one sender, with the database of
// DATABASE_URL.
const smallest = `  sources: {stripe: {provider: stripe, secrets: ["${STRIPE_WEBHOOK_SECRET}"]}}
  destinations: {app: {http: {url: "${APP_URL}"}}}
  routes: [{name: everything, from: stripe, to: app}]
`

// ErrNoFile is returned by Find if no file is named, and none of the paths that it tries exists.
var ErrNoFile = fmt.Errorf("neither ./%s nor ./%s exists", DefaultPath, DevPath)

// Find returns the path of the configuration file: explicit if given, otherwise ./hooklatch.yaml if
// it exists, and otherwise the file that the dev command wrote. If explicit is empty, Find refuses
// a file that another user may have written.
func Find(explicit string) (string, error) {
	if explicit != "" {
		info, err := os.Stat(explicit)
		switch {
		case errors.Is(err, fs.ErrNotExist) && explicit == InstalledPath:
			return "", fmt.Errorf("find configuration: %w%s", err, toInstall)
		case err != nil:
			return "", fmt.Errorf("find configuration: %w", err)
		case info.IsDir():
			return "", fmt.Errorf("find configuration: %s is a directory; name a file. Docker creates a directory if the file to mount does not exist on the host: "+
				"remove the directory there, and write the file", explicit)
		}
		return explicit, nil
	}
	for _, path := range []string{DefaultPath, filepath.FromSlash(DevPath)} {
		if _, err := os.Stat(path); err == nil {
			if err := checkTrusted(path); err != nil {
				return "", fmt.Errorf("find configuration: %w", err)
			}
			return path, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("find configuration: %w", err)
		}
	}
	return "", fmt.Errorf("find configuration: %w; name a file with --config", ErrNoFile)
}
