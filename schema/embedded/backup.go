package embedded

import "context"

// Backup describes how to copy another server's cluster while that server runs.
type Backup struct {
	// Of is the server to copy.
	Of *Server
	// Begin is called before the first file is copied. It must execute pg_backup_start.
	Begin func(ctx context.Context) error
	// End is called after the last file is copied. It must execute pg_backup_stop. It returns the
	// contents of files to add to the copy, by name, such as backup_label and standby.signal.
	End func(ctx context.Context) (files map[string]string, err error)
}

// BackupStatements returns the statements that begin and end a backup of the server. The second
// statement returns the content of backup_label. Both must be executed in one session.
func (s *Server) BackupStatements() (begin, end string) {
	if s.Major() < 15 { // before version 15, the functions have other names
		return "SELECT pg_start_backup('copy', true, false)", "SELECT labelfile FROM pg_stop_backup(false, false)"
	}
	return "SELECT pg_backup_start('copy', true)", "SELECT labelfile FROM pg_backup_stop(false)"
}
