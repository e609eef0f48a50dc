package destination

import (
	"bufio"
	"io"
	"net"
	"strconv"
	"strings"
)

// script returns a server that sends the first reply as its greeting and one more for each line it
// reads, and then stays silent.
func script(answers ...string) func(net.Conn) {
	return func(c net.Conn) {
		lines := bufio.NewReader(c)
		for i, answer := range answers {
			if i > 0 {
				if _, err := lines.ReadString('\n'); err != nil {
					return
				}
			}
			if _, err := io.WriteString(c, answer+"\r\n"); err != nil {
				return
			}
		}
		_, _ = io.Copy(io.Discard, c)
	}
}

func replaceAddress(text string, port int) string {
	return strings.ReplaceAll(text, "ADDRESS", "127.0.0.1:"+strconv.Itoa(port))
}
