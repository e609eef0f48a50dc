package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build describes the binary.
type build struct {
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	CommitAt  string `json:"commit_at,omitempty"`
	Modified  bool   `json:"modified,omitempty"` // built with uncommitted changes
	GoVersion string `json:"go_version"`
	Platform  string `json:"platform"`
}

// readBuild describes the running binary. The version that the linker set takes precedence.
func (p *Process) readBuild() build {
	b := build{Version: "(devel)", GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(p.version, info.Main.Version, b.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.CommitAt = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (b build) String() string {
	text := ProgramName + " " + b.Version
	if b.Commit != "" {
		text += ", commit " + b.Commit[:min(12, len(b.Commit))]
		if b.Modified {
			text += " with changes"
		}
		text += " of " + b.CommitAt
	}
	return text + ", " + b.GoVersion + " " + b.Platform
}

func (c *cli) newVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and Go version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := c.readBuild()
			if c.asJSON {
				return PrintJSON(c.Stdout, b)
			}
			_, err := fmt.Fprintln(c.Stdout, b)
			return err
		},
	}
	c.jsonFlag(cmd)
	return cmd
}
