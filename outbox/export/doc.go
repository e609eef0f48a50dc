// Package export writes each day's deliveries to a directory or to object storage before retention
// drops the day, and finds and erases events in these files.
//
// # A day
//
// A day has parts and a manifest. A part is a file of JSON lines, compressed with gzip: one line
// for each delivery, with its body, its events and their effects. A separate index file contains
// the position of each event. The manifest lists the parts, their sizes and their SHA-256
// checksums:
//
//	2026-11-01/part-000-8c2b4e0f.jsonl.gz
//	2026-11-01/part-000-8c2b4e0f.index
//	2026-11-01/manifest-5d11a9c3.json
//
// # Validity
//
// The table exported_days is the authority on which manifest is valid. A file is never changed:
// each name is used once. When all parts are written, every file is read back, and its checksum is
// verified. Then the manifest is written and read back. Only then does one UPDATE make the manifest
// valid, and only then may retention drop the day. A process that stops in between leaves an
// unfinished day. The next export continues after the last part that was noted in exported_days.
//
// Names are noted in exported_days before files are written. Files that no valid manifest lists are
// deleted. No other file is touched, so several installations may share a storage.
//
// Several processes may write the files of one day, and each may delete files that another is still
// writing. The column begun_at therefore changes before files are deleted, and whenever the manifest
// changes. A process cannot make a manifest valid if begun_at has changed since the process read
// it. After a process has written files, it checks begun_at again, and deletes the files itself if
// begun_at has changed.
//
// # Erasure
//
// The transaction that erases an event also notes the erasure in export_erasures. EraseNoted writes
// the affected parts again without the event's content, then a new manifest, and deletes the former
// files. A note stays until EraseNoted has visited every day and found no unfinished day. No part
// contains the content then.
package export
