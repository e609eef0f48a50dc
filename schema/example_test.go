package schema_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/embedded"
)

// The example does what `hooklatch migrate up` does.
func ExampleMigrator_Up() {
	ctx := context.Background()
	server, err := embedded.Start(ctx, embedded.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Stop(ctx)
	pool, err := pgxpool.New(ctx, server.URL("postgres"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()

	migrator, err := schema.NewMigrator(pool, schema.Default, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := migrator.Up(ctx); err != nil {
		fmt.Println(err)
		return
	}
	status, err := migrator.Status(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(status.Migrations[0], "days ahead:", status.DaysAhead)
	fmt.Println(migrator.Validate(ctx))
	// Output:
	// 0001_inbox days ahead: 14
	// <nil>
}
