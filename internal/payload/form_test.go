package payload_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/payload"
)

const severalParts = `multipart/form-data; boundary=xx`

// form returns a form with a field, a repeated field, a file, and two long texts: one of exactly 64
// KiB, and a longer one.
func form(t testing.TB) (contentType string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range [][2]string{{"from", "jon@example.com"}, {"to", "a"}, {"to", "b"}, {"long", strings.Repeat("x", 64<<10+1)}, {"whole", strings.Repeat("x", 64<<10)}} {
		require.NoError(t, w.WriteField(f[0], f[1]))
	}
	file, err := w.CreateFormFile("attachment1", "bill.txt")
	require.NoError(t, err)
	_, err = file.Write([]byte("hello"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return w.FormDataContentType(), b.Bytes()
}

func TestAFormInSeveralPartsHasFieldsAndFiles(t *testing.T) {
	t.Parallel()
	contentType, body := form(t)
	require.True(t, payload.IsMultipart(contentType, body))
	require.False(t, payload.IsForm(contentType, body))
	fields, err := payload.Fields(contentType, body)
	require.NoError(t, err)
	require.Equal(t, "jon@example.com", fields.Get("from"))
	require.Equal(t, []string{"a", "b"}, fields["to"])
	require.Equal(t, "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", fields.Get("attachment1"))
	require.Regexp(t, "^sha256:[0-9a-f]{64}$", fields.Get("long"))
	require.Len(t, fields.Get("whole"), 64<<10)

	fields, err = payload.Fields("application/x-www-form-urlencoded", []byte("\xef\xbb\xbfa=1&a=2"))
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2"}, fields["a"])
}

func TestWhatIsNoFormInSeveralPartsIsRefused(t *testing.T) {
	t.Parallel()
	part := "--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n"
	for name, body := range map[string]string{
		"empty": "", "no parts": "hello", "cut short": part[:len(part)-4], "no end": part, "too many parts": strings.Repeat(part, 1001) + "--xx--",
		"another boundary": strings.ReplaceAll(part, "--xx", "--yy") + "--yy--", "header without an end": "--xx\r\nContent-Disposition: form-data",
	} {
		_, err := payload.Fields(severalParts, []byte(body))
		require.ErrorIs(t, err, payload.ErrNotMultipart, name)
	}
	_, err := payload.Fields("multipart/form-data", []byte(part+"--xx--"))
	require.ErrorIs(t, err, payload.ErrNotMultipart, "no boundary")
	fields, err := payload.Fields(severalParts, []byte(strings.Repeat(part, 1000)+"--xx--"))
	require.NoError(t, err)
	require.Len(t, fields["a"], 1000)
	_, err = payload.Fields(severalParts, []byte(strings.Repeat(part, 1000)))
	require.ErrorIs(t, err, payload.ErrNotMultipart, "cut short behind the last part that is allowed")
	require.False(t, payload.IsMultipart(severalParts, []byte(` {"a":1}`)), "the content type alone does not decide, because no sender signs it")
}

// A form is read as browsers, PHP, Node.js and Python read it, so that no sender's form is refused.
func TestSemicolonsAndStrayPercentSignsStandForThemselves(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]map[string][]string{
		"id=1&text=100% done; ok": {"id": {"1"}, "text": {"100% done; ok"}},
		"a=%zz&b=%4&c=%&d=%%41":   {"a": {"%zz"}, "b": {"%4"}, "c": {"%"}, "d": {"%A"}},
		"a=1+%2B%+%41;b=2":        {"a": {"1 +% A;b=2"}},
		"%=1&;&%3d=%3B&=2&&":      {"%": {"1"}, ";": {""}, "=": {";"}, "": {"2"}},
		"a=%ff%":                  {"a": {"\xff%"}},
	} {
		fields, err := payload.Fields(payload.FormType, []byte(body))
		require.NoError(t, err, body)
		require.Equal(t, want, map[string][]string(fields), body)
	}
}

// The same bytes always yield the same fields, of limited size, or the same error.
func FuzzFields(f *testing.F) {
	contentType, body := form(f)
	f.Add(contentType, body)
	f.Add("application/x-www-form-urlencoded", []byte("a=1&b=%zz"))
	f.Add(severalParts, []byte("--xx\r\nContent-Disposition: form-data; name=\"a\"; filename=\"\"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=31\r\n--xx--"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		fields, err := payload.Fields(contentType, body)
		again, errAgain := payload.Fields(contentType, body)
		require.Equal(t, fmt.Sprint(err), fmt.Sprint(errAgain))
		require.Equal(t, fields, again)
		if !payload.IsMultipart(contentType, body) || err != nil {
			return
		}
		total := 0
		for name, values := range fields {
			for _, value := range values {
				total += len(name) + len(value)
			}
		}
		require.LessOrEqual(t, total, len(body)+1000*len("sha256:")+1000*64)
	})
}

// A parameter that cannot be read does not hide the boundary.
func TestPartsAreReadWhateverTheOtherParameters(t *testing.T) {
	t.Parallel()
	const body = "--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--xx--"
	for _, contentType := range []string{
		"multipart/form-data; boundary=xx; utf-8", "Multipart/Form-Data; charset=utf-8; charset=latin1; boundary=xx", "multipart/form-data; utf-8; Boundary=\"xx\"",
	} {
		require.True(t, payload.IsMultipart(contentType, []byte(body)), contentType)
		fields, err := payload.Fields(contentType, []byte(body))
		require.NoError(t, err, contentType)
		require.Equal(t, "1", fields.Get("a"))
	}
	for _, contentType := range []string{"multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"xx", "multipart/form-data; x-boundary=xx"} {
		_, err := payload.Fields(contentType, []byte(body))
		require.ErrorIs(t, err, payload.ErrNotMultipart, contentType)
	}
}
