package model

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/places"
)

// Each failpoint of the code is in the model or in LeftOut, but not in both.
func TestStepsBearTheNamesOfTheFailpoints(t *testing.T) {
	t.Parallel()
	inModel, leftOut := explored(t).Failpoints, LeftOut()
	inCode := map[string]bool{}
	for _, place := range places.All() {
		inCode[place] = true
		transaction := place
		for _, moment := range []string{".begin", ".before_commit", ".after_commit"} {
			transaction = strings.TrimSuffix(transaction, moment)
		}
		_, one := leftOut[place]
		_, all := leftOut[transaction]
		require.NotEqual(t, inModel[place], one || all, "%s: either a step of the model passes the failpoint, or LeftOut says why none does, but not both", place)
	}
	for place := range inModel {
		require.True(t, inCode[place], "%s is a failpoint of the model that the code does not have", place)
	}
	for name, why := range leftOut {
		require.NotEmpty(t, why)
		require.True(t, inCode[name] || inCode[name+".begin"], "LeftOut lists %s, which the code does not have", name)
	}
}
