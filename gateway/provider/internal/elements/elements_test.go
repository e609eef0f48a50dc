package elements

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

func TestRead(t *testing.T) {
	t.Parallel()
	const document = "\xef\xbb\xbf" + `<?xml version="1.0" encoding="utf-8"?>
<o:order xmlns:o="urn:o" id="x"><!-- a comment -->
  <id> A&amp;B &#x31; </id><lines><line><id>1</id></line><line><id>2</id></line></lines>
  <note><![CDATA[<id>no element</id>]]></note><empty/>
</o:order>`
	require.True(t, IsXML([]byte(document)))
	found, err := Read([]byte(document), "order/id", "order/note", "order/empty", "order/absent")
	require.NoError(t, err)
	require.Equal(t, Texts{"order/id": "A&B 1", "order/note": "<id>no element</id>", "order/empty": ""}, found)

	text, err := found.Text("order/id")
	require.NoError(t, err)
	require.Equal(t, "A&B 1", text)
	for path, want := range map[string]string{
		"order/empty":  "order/empty is missing or empty",
		"order/absent": "order/absent is missing or empty",
	} {
		_, err := found.Text(path)
		require.EqualError(t, err, want)
	}
	_, err = Texts{"a": strings.Repeat("x", proof.MaxText+1)}.Text("a")
	require.EqualError(t, err, "a is longer than 255 bytes")
	_, err = Texts{"a": "one\u0085two"}.Text("a")
	require.EqualError(t, err, "a contains control characters or is not valid UTF-8")

	_, err = Read([]byte(document), "order/lines/line/id")
	require.EqualError(t, err, "order/lines/line/id occurs more than once in the body")
}

// Documents that two readers could understand differently, and documents beyond the limits,
// are refused.
func TestReadIsStrictAndBounded(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"not XML":             "{}",
		"cut off":             "<a><b>1</b>",
		"crossed":             "<a><b></a></b>",
		"a declared entity":   `<!DOCTYPE a [<!ENTITY x "1">]><a>&x;</a>`,
		"a DTD":               `<!DOCTYPE a SYSTEM "http://example.com/a.dtd"><a/>`,
		"an unknown entity":   "<a>&nbsp;</a>",
		"another encoding":    `<?xml version="1.0" encoding="utf-16"?><a/>`,
		"bytes that are none": "<a>\xff</a>",
	} {
		_, err := Read([]byte(text), "a")
		if name == "not XML" { // text without any element: Read finds nothing
			require.NoError(t, err, name)
			continue
		}
		require.Equal(t, errNoXML, err, name)
	}
	deep := strings.Repeat("<a>", maxElementDepth) + strings.Repeat("</a>", maxElementDepth)
	_, err := Read([]byte(deep))
	require.NoError(t, err)
	_, err = Read([]byte("<b>" + deep + "</b>"))
	require.Equal(t, errTooMuchXML, err)
	_, err = Read([]byte("<b>" + strings.Repeat("<a/>", maxElements) + "</b>"))
	require.Equal(t, errTooMuchXML, err)
}

// FuzzElements reads arbitrary bytes. Every usable text is valid UTF-8 and not longer than the
// body, and every error has a message for the sender.
func FuzzElements(f *testing.F) {
	f.Add([]byte("<a><b>1</b></a>"))
	f.Add([]byte("<x:a xmlns:x='y'><b>&lt;</b><b/></x:a>"))
	f.Add([]byte("<!DOCTYPE a><a><b/></a>"))
	f.Add([]byte("<?xml version='1.0'?><a><b><c/></b><d/></a>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		found, err := Read(body, "a", "a/b", "a/b/c")
		if err != nil {
			_, ok := errors.AsType[*provider.EventError](err)
			require.True(t, ok, err)
			return
		}
		for path := range found {
			text, err := found.Text(path)
			if err == nil {
				require.True(t, utf8.ValidString(text))
				require.LessOrEqual(t, len(text), min(proof.MaxText, len(body)))
			}
		}
	})
}
