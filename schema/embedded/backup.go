package embedded

import "context"

// Backup is a copy of another server's cluster, taken while that server runs.
type Backup struct {
	// Of is the server to copy.
	Of *Server
	// Begin is called before the first file is copied: it executes pg_backup_start.
	Begin func(ctx context.Context) error
	// End is called after the last file: it executes pg_backup_stop and returns the files to
	// write into the copy by their names, such as backup_label and standby.signal.
	End func(ctx context.Context) (files map[string]string, err error)
}
