package meter

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// WAL is the amount of WAL that Postgres wrote between two positions.
type WAL struct {
	Bytes int64
	// Images is the size of the full-page images in the WAL. This size depends on the time since
	// the last checkpoint. It is -1 if the server has no pg_walinspect, or if a checkpoint has
	// since removed the start of the WAL.
	Images int64
}

// Position is a log sequence number, such as 0/16B3748.
type Position string

// Now returns the position up to which the WAL is on disk.
func Now(ctx context.Context, conn *pgx.Conn) (Position, error) {
	var at string
	if err := conn.QueryRow(ctx, "SELECT pg_current_wal_flush_lsn()::text").Scan(&at); err != nil {
		return "", fmt.Errorf("look at the WAL: %w", err)
	}
	return Position(at), nil
}

// undefinedFile is the SQLSTATE for a segment of the WAL that no longer exists.
const undefinedFile = "58P01"

//go:embed images.sql
var imagesSQL string

// Between returns the WAL written between two positions.
func Between(ctx context.Context, conn *pgx.Conn, from, to Position) (WAL, error) {
	wal := WAL{Images: -1}
	if err := conn.QueryRow(ctx, "SELECT pg_wal_lsn_diff($1::pg_lsn, $2::pg_lsn)::bigint", string(to), string(from)).Scan(&wal.Bytes); err != nil {
		return wal, fmt.Errorf("measure the WAL: %w", err)
	}
	if wal.Bytes == 0 {
		wal.Images = 0
		return wal, nil
	}
	// The server may have been built without pg_walinspect, or its version may be older than 15.
	if _, err := conn.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS pg_walinspect"); err != nil {
		return wal, nil //nolint:nilerr // the size of the images stays unknown
	}
	err := conn.QueryRow(ctx, imagesSQL, string(from), string(to)).Scan(&wal.Images)
	if failed := (*pgconn.PgError)(nil); errors.As(err, &failed) && failed.Code == undefinedFile {
		return WAL{Bytes: wal.Bytes, Images: -1}, nil
	}
	if err != nil {
		return wal, fmt.Errorf("measure the images of pages in the WAL: %w", err)
	}
	return wal, nil
}
