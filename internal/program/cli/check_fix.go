package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hooklatch/hooklatch/internal/program/config"
)

// backupSuffix is appended to the name of a configuration file to name its copy.
const backupSuffix = ".bak"

// fix replaces deprecated keys in the file of a configuration, and keeps a copy of the file. Unless
// yes is true, it only prints the deprecated keys.
func (c *cli) fix(cfg *config.Config, yes bool) error {
	path, deprecated := cfg.Path(), cfg.Deprecated()
	if len(deprecated) == 0 {
		fmt.Fprintf(c.Stdout, "%s: nothing to fix: no key is deprecated\n", path)
		return nil
	}
	text, err := cfg.WithoutDeprecated()
	if err != nil {
		return err
	}
	fmt.Fprintln(c.Stdout, deprecated)
	if !yes {
		fmt.Fprintln(c.Stdout, "nothing was changed: add --yes to change the file")
		return nil
	}
	switch err := copyFile(path, path+backupSuffix); {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s exists: move it away, then repeat the command", path+backupSuffix)
	case err != nil:
		return fmt.Errorf("copy the configuration to %s: %w", path+backupSuffix, err)
	}
	// Writing in place keeps the file's owner and mode, and links to the file.
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("write the configuration (%s is a copy of it): %w", path+backupSuffix, err)
	}
	fmt.Fprintf(c.Stdout, "replaced; %s is a copy of the old file\n", path+backupSuffix)
	return nil
}

// copyFile creates a copy of a file with the same mode.
func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}
