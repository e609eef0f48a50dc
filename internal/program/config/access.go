package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// modesMatter is true on systems where file modes decide who may read and write a file: all but
// Windows.
const modesMatter = runtime.GOOS != "windows"

func writableByAll(info fs.FileInfo) bool { return modesMatter && info.Mode().Perm()&0o002 != 0 }
func readableByAll(info fs.FileInfo) bool { return modesMatter && info.Mode().Perm()&0o004 != 0 }

// mode formats the mode of a file, such as 0644.
func mode(info fs.FileInfo) string { return fmt.Sprintf("%#o", info.Mode().Perm()) }

func readable(info fs.FileInfo) string {
	return fmt.Sprintf("can be read by every user of this machine (mode %s)", mode(info))
}

// checkTrusted checks a configuration file that the user did not name. It refuses the file if the
// file or its directory belongs to another user, except root. It also refuses the file if every
// user can write to the file or its directory. The file decides where events go, and which
// environment variables are sent with them.
func checkTrusted(path string) error {
	for _, one := range []string{path, filepath.Dir(path)} {
		info, err := os.Stat(one)
		if err != nil {
			return err
		}
		why := ""
		if uid, known := ownerOf(info); known && uid != 0 && uid != os.Geteuid() {
			why = fmt.Sprintf("belongs to another user (%d)", uid)
		} else if writableByAll(info) {
			why = fmt.Sprintf("can be written by every user of this machine (mode %s)", mode(info))
		}
		if why != "" {
			what := "it"
			if info.IsDir() {
				what = "its directory"
			}
			return fmt.Errorf("./%s is not used automatically because %s %s; if the file is yours, name it with --config %s",
				filepath.ToSlash(path), what, why, filepath.ToSlash(path))
		}
	}
	return nil
}

// checkAccess returns the information about a file, and refuses a file that every user of the
// machine can write to.
func checkAccess(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read configuration: %w", err)
	case writableByAll(info):
		return nil, Problems{{File: path, Message: fmt.Sprintf(
			"can be written by every user of this machine (mode %s), and decides where events go; remove that permission: chmod o-w", mode(info))}}
	}
	return info, nil
}
