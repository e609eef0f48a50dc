package destination

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func testMessage() Message {
	return Message{
		To:      []string{"Änne <aenne@example.org>", "bob@example.org"},
		Subject: "Rechnung bezahlt – danke",
		Text:    "Grüße\n.\nfrom the line with a dot\n",
		HTML:    "<p>Grüße</p>",
	}
}

func TestMessageRoundTrip(t *testing.T) {
	t.Parallel()
	body, err := testMessage().Encode()
	require.NoError(t, err)
	want := `{"to":["Änne <aenne@example.org>","bob@example.org"],"subject":"Rechnung bezahlt – danke",` +
		`"text":"Grüße\n.\nfrom the line with a dot\n","html":"<p>Grüße</p>"}`
	require.Equal(t, want, string(body), "the body is readable for operators")
	decoded, err := DecodeMessage(body)
	require.NoError(t, err)
	require.Equal(t, testMessage(), decoded)
}

func TestMessageValidate(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Message){
		"to must have 1 to 100 addresses, got 0":                                           func(m *Message) { m.To = nil },
		"to must have 1 to 100 addresses, got 101":                                         func(m *Message) { m.To = make([]string, 101) },
		"to, address 2: is not an email address":                                           func(m *Message) { m.To[1] = "canary" },
		"to, address 1: is not an email address":                                           func(m *Message) { m.To[0] = "a@example.org, b@example.org" },
		"subject has a line break or control character":                                    func(m *Message) { m.Subject = "hi\r\nBcc: evil@example.org" },
		"subject has 901 bytes; at most 900 are allowed":                                   func(m *Message) { m.Subject = strings.Repeat("x", 901) },
		"text and html are both empty":                                                     func(m *Message) { m.Text, m.HTML = "", "" },
		"subject, text or html is not valid UTF-8":                                         func(m *Message) { m.HTML = "\xff" },
		"to, address 1: has a line break or control character":                             func(m *Message) { m.To[0] = "=?utf-8?q?a=0D=0ABcc?= <a@example.org>" },
		"to, address 1: is longer than 320 bytes or has characters an address cannot have": func(m *Message) { m.To[0] = "a@example.org\nBcc: b@example.org" },
	} {
		m := testMessage()
		change(&m)
		require.EqualError(t, m.Validate(), want)
		_, err := m.Encode()
		require.EqualError(t, err, "encode email: "+want)
	}
}

func TestDecodeMessageRefuses(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		``, `null`, `[]`, `{}`, `{"to":"a@example.org","text":"x"}`, `{"to":["a@example.org"],"text":"x","cc":["b@example.org"]}`,
		`{"to":["a@example.org"],"text":"x"} {}`, `{"to":["a@example.org"],"text":"x"`,
	} {
		_, err := DecodeMessage([]byte(body))
		require.ErrorContains(t, err, "decode email: ", body)
	}
}

func TestRenderEmailIsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	from, err := mail.ParseAddress("Hook <hook@example.com>")
	require.NoError(t, err)
	at := time.Date(2026, 9, 30, 12, 0, 0, 999, time.FixedZone("", 7200))
	first, err := renderEmail(testMessage(), from, "hl_key", at)
	require.NoError(t, err)
	second, err := renderEmail(testMessage(), from, "hl_key", at.UTC())
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))
	require.Equal(t, bytes.Count(first, []byte("\n")), bytes.Count(first, []byte("\r\n")))

	// A new version must not change the content that an effect in progress sends.
	golden, err := os.ReadFile("testdata/alternative.eml")
	require.NoError(t, err)
	require.Equal(t, string(golden), strings.ReplaceAll(string(first), "\r\n", "\n"))
}

func TestRenderEmailCanBeRead(t *testing.T) {
	t.Parallel()
	from, err := mail.ParseAddress("hook@example.com")
	require.NoError(t, err)
	for name, change := range map[string]func(*Message){
		"both": func(*Message) {}, "text": func(m *Message) { m.HTML = "" }, "html": func(m *Message) { m.Text = "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := testMessage()
			change(&m)
			content, err := renderEmail(m, from, "hl_key", time.Unix(0, 0))
			require.NoError(t, err)
			require.Equal(t, m, readEmail(t, content))
		})
	}
}

// readEmail reads a message as a recipient's mail program would.
func readEmail(t *testing.T, content []byte) Message {
	t.Helper()
	msg, err := mail.ReadMessage(bytes.NewReader(content))
	require.NoError(t, err)
	var m Message
	m.Subject, err = new(mime.WordDecoder).DecodeHeader(msg.Header.Get("Subject"))
	require.NoError(t, err)
	to, err := msg.Header.AddressList("To")
	require.NoError(t, err)
	for _, a := range to {
		if a.Name != "" {
			m.To = append(m.To, a.Name+" <"+a.Address+">")
			continue
		}
		m.To = append(m.To, a.Address)
	}
	kind, params, err := mime.ParseMediaType(msg.Header.Get("Content-Type"))
	require.NoError(t, err)
	set := func(kind string, r io.Reader) {
		body, err := io.ReadAll(r)
		require.NoError(t, err)
		text := strings.ReplaceAll(string(body), "\r\n", "\n")
		if kind == "text/html" {
			m.HTML = text
		} else {
			m.Text = text
		}
	}
	if kind != "multipart/alternative" {
		set(kind, quotedprintable.NewReader(msg.Body))
		return m
	}
	parts := multipart.NewReader(msg.Body, params["boundary"])
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return m
		}
		require.NoError(t, err)
		kind, _, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
		require.NoError(t, err)
		set(kind, part)
	}
}

func FuzzDecodeMessage(f *testing.F) {
	seed, err := testMessage().Encode()
	require.NoError(f, err)
	f.Add(seed)
	f.Add([]byte(`{"to":["=?utf-8?q?x=0A?= <a@b>"],"subject":"\u0000","text":"a"}`))
	from := &mail.Address{Address: "hook@example.com"}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := DecodeMessage(body)
		if err != nil {
			return
		}
		encoded, err := m.Encode()
		require.NoError(t, err)
		again, err := DecodeMessage(encoded)
		require.NoError(t, err)
		require.Equal(t, m, again)

		content, err := renderEmail(m, from, "hl_key", time.Unix(0, 0))
		require.NoError(t, err)
		msg, err := mail.ReadMessage(bytes.NewReader(content))
		require.NoError(t, err)
		// A message's content creates no other headers.
		for name := range msg.Header {
			require.Contains(t, []string{
				"Auto-Submitted", "Content-Transfer-Encoding", "Content-Type", "Date", "From",
				"Hooklatch-Idempotency-Key", "Message-Id", "Mime-Version", "Subject", "To",
			}, name)
		}
	})
}
