package embedded_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/schema/embedded"
)

// The example starts a throw-away server. With the options DataDir and Durable, it would start a
// development server that keeps its data.
func ExampleStart() {
	ctx := context.Background()
	server, err := embedded.Start(ctx, embedded.Options{})
	if err != nil {
		fmt.Println(err) // explains what to install if Postgres is missing
		return
	}
	defer server.Stop(ctx)

	conn, err := pgx.Connect(ctx, server.URL("postgres"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close(ctx)
	var answer int
	err = conn.QueryRow(ctx, "SELECT 6 * 7").Scan(&answer)
	fmt.Println(answer, err)
	// Output: 42 <nil>
}
