package config

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// place writes a file with exactly this mode, whatever the umask is.
func place(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	require.NoError(t, os.Chmod(path, mode))
}

func onUnix(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("file modes have no meaning on this system")
	}
}

func TestAFileEverybodyMayWriteIsRefused(t *testing.T) {
	t.Parallel()
	onUnix(t)
	dir := t.TempDir()
	path, key := filepath.Join(dir, "my.yaml"), filepath.Join(dir, "key")
	place(t, path, "sources: {stripe: {provider: stripe, secrets_file: key}}", 0o646)
	place(t, key, "canary-secret", 0o600)
	_, err := Load(path, lookup)
	require.ErrorContains(t, err, path+": can be written by every user of this machine (mode 0646)")
	require.ErrorContains(t, err, "chmod o-w")

	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, os.Chmod(key, 0o602))
	_, err = Load(path, lookup)
	require.ErrorContains(t, err, path+":1: sources.stripe.secrets_file: the file can be written by every user of this machine (mode 0602)")
	require.NotContains(t, err.Error(), "canary")

	require.NoError(t, os.Chmod(key, 0o660))
	cfg, err := Load(path, lookup)
	require.NoError(t, err)
	require.Empty(t, cfg.Warnings())
}

func TestSecretsEverybodyMayReadAreWarnedOf(t *testing.T) {
	t.Parallel()
	onUnix(t)
	for text, want := range map[string]string{
		"sources: {stripe: {provider: stripe, secrets: [canary-secret]}}":                    ": contains secrets, and can be read by every user of this machine (mode 0644)",
		"database: {url: postgres://u:canary@localhost/x}":                                   ": contains secrets, and can be read by every user of this machine (mode 0644)",
		"sources: {stripe: {provider: stripe, secrets: [\"${STRIPE_WEBHOOK_SECRET}\"]}}":     "",
		"database: {url: postgres://u@localhost/x}":                                          "",
		"cells: {eu: {url: postgres://u@localhost/x, read_url: postgres://u@standby/x}}":     "",
		"cells: {eu: {url: postgres://u:canary@localhost/x}}":                                ": contains secrets, and can be read by every user of this machine (mode 0644)",
		"gateway: {seen_cache: {redis: redis://localhost:6379/0}}":                           "",
		"gateway: {seen_cache: {redis: redis://u:canary@localhost:6379/0}}":                  ": contains secrets, and can be read by every user of this machine (mode 0644)",
		"sources: {stripe: {provider: stripe, secrets_file: key}}":                           ":1: sources.stripe.secrets_file: the file can be read by every user of this machine (mode 0604)",
		"sources: {stripe: {provider: stripe, secrets: [{value: canary-secret}]}}":           ": contains secrets, and can be read by every user of this machine (mode 0644)",
		"destinations: {app: {http: {url: http://localhost, headers: {X-Api-Key: canary}}}}": ": contains secrets, and can be read by every user of this machine (mode 0644)",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "my.yaml")
		place(t, filepath.Join(dir, "key"), "canary-secret", 0o604)
		place(t, path, text, 0o644)
		cfg, err := Load(path, lookup)
		require.NoError(t, err, text)
		if want == "" {
			require.Empty(t, cfg.Warnings(), text)
			continue
		}
		require.Len(t, cfg.Warnings(), 1, text)
		require.Equal(t, path+want, cfg.Warnings()[0].Error())
	}
}

// Without an explicit file, Find uses only a file that belongs to the user or to root, and to which
// not every user can write.
func TestFindTakesNoFileOfSomebodyElse(t *testing.T) {
	onUnix(t)
	for _, name := range []string{DefaultPath, filepath.FromSlash(DevPath)} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Chdir(t.TempDir())
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
			place(t, name, "{}", 0o602)
			_, err := Find("")
			require.ErrorContains(t, err, "./"+filepath.ToSlash(name)+" is not used automatically because it can be written by every user of this machine (mode 0602); if the file is yours, name it with --config "+filepath.ToSlash(name))

			require.NoError(t, os.Chmod(name, 0o644))
			require.NoError(t, os.Chmod(filepath.Dir(name), 0o777|os.ModeSticky))
			_, err = Find("")
			require.ErrorContains(t, err, "because its directory can be written by every user of this machine (mode 0777)")
			found, err := Find(name)
			require.NoError(t, err, "a file that the user names is used")
			require.Equal(t, name, found)

			require.NoError(t, os.Chmod(filepath.Dir(name), 0o755))
			found, err = Find("")
			require.NoError(t, err)
			require.Equal(t, name, found)

			if os.Geteuid() != 0 {
				t.Skip("only root can change the owner of a file")
			}
			require.NoError(t, os.Chown(name, 4711, -1))
			// Only root runs this part of the test. The directory belongs to root, and the file
			// does not.
			_, err = Find("")
			require.ErrorContains(t, err, "because it belongs to another user (4711)")
		})
	}
}
