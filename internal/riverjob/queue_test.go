package riverjob

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

func TestEverySourceHasAQueueOfItsOwn(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"stripe":                "handlers-stripe",
		"my-shop_2":             "handlers-my-shop_2",
		strings.Repeat("a", 55): "handlers-" + strings.Repeat("a", 55),
		strings.Repeat("a", 56): "handlers-" + strings.Repeat("a", 46) + "_b35439a4",
		"a--b":                  "handlers-a_b_90827a2e",
		"a_-b":                  "handlers-a_b_56f89b84",
		"shop-":                 "handlers-shop_3f992105",
		"Été":                   "handlers-t_adca3dd5",
		"\u00e9":                "handlers-x_4a99557e",
	} {
		queue := HandlersQueue(identity.Source(source))
		require.True(t, IsQueueName(queue), queue)
		require.True(t, IsHandlersQueue(queue), queue)
		require.True(t, IsReservedQueue(queue), queue)
		require.Equal(t, want, queue)
	}
	require.True(t, IsReservedQueue("handlers"))
	require.False(t, IsReservedQueue("handlers_of_mine"))
}
