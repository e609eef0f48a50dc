package route

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/worker/destination"
)

// A caller gets a result or ErrCompileBusy in time. A running compilation delays later
// compilations.
func TestConditionsAreCompiledOneAtATime(t *testing.T) {
	t.Parallel()
	conditions, err := NewConditions()
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		conditions.compiling = make(chan struct{}, 1) // a channel of this synctest bubble
		conditions.compiling <- struct{}{}            // a compilation that does not end
		began := time.Now()
		_, err := conditions.Compile(t.Context(), "true")
		require.ErrorIs(t, err, ErrCompileBusy)
		require.Equal(t, compileTimeout, time.Since(began))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = conditions.Compile(ctx, "true")
		require.ErrorIs(t, err, context.Canceled)
		require.Empty(t, conditions.known, "no other condition was compiled meanwhile")

		<-conditions.compiling
		condition, err := conditions.Compile(t.Context(), "true")
		require.NoError(t, err)
		require.NotNil(t, condition.By)
		synctest.Wait()
		require.Empty(t, conditions.compiling, "the next compilation can begin")

		conditions.compiling <- struct{}{}
		_, err = conditions.Compile(t.Context(), "true")
		require.NoError(t, err, "a cached condition does not wait")
	})
}

func TestConditionsAreBounded(t *testing.T) {
	t.Parallel()
	conditions, err := NewConditions()
	require.NoError(t, err)
	conditions.timeout = time.Minute // on a busy machine, many compilations in turn take long
	_, err = conditions.Compile(t.Context(), `body.a == "`+strings.Repeat("é", maxTyped)+`"`)
	require.EqualError(t, err, "has 1012 characters; at most 1000 are allowed")
	_, err = conditions.Compile(t.Context(), `body.a == "`+strings.Repeat("é", maxTyped-12)+`"`)
	require.NoError(t, err)
	_, first := conditions.Compile(t.Context(), "body.")
	require.Error(t, first)
	_, again := conditions.Compile(t.Context(), "body.")
	require.Same(t, first, again, "a faulty condition is compiled only once")

	var all sync.WaitGroup
	for i := range 3 * keptConditions {
		all.Go(func() {
			if _, err := conditions.Compile(t.Context(), fmt.Sprintf("body.a == %d", i/2)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Len(t, conditions.known, keptConditions)
	require.Len(t, conditions.order, keptConditions)
	for _, text := range conditions.order {
		require.Contains(t, conditions.known, text)
	}
}

func TestAConditionDemandsItsText(t *testing.T) {
	t.Parallel()
	conditions, err := NewConditions()
	require.NoError(t, err)
	condition, err := conditions.Compile(t.Context(), `body.customer == "cus_42"`)
	require.NoError(t, err)
	require.Equal(t, "cus_42", condition.Text)
}

// Routes that users type have the same limits as conditions that users type.
func TestTypedRoutesAreBounded(t *testing.T) {
	t.Parallel()
	for when, says := range map[string]string{
		"body.a == 1": "",
		`body.a == "` + strings.Repeat("a", maxTyped) + `"`:                                  "limit 1000",
		"body.a == " + strings.Repeat("[", maxNesting+2) + strings.Repeat("]", maxNesting+2): errTypedTooDeep.Error(),
	} {
		for _, typed := range []bool{true, false} {
			_, err := Compile(Options{
				Routes: []Route{{Name: "a", From: []string{"*"}, To: "app", When: when}}, Targets: []Target{{Name: "app", Sender: kindOnly(destination.KindHTTP)}}, Typed: typed,
			})
			switch {
			case says == "":
				require.NoError(t, err)
			case typed:
				require.ErrorContains(t, err, says)
			}
		}
	}
}
