package crashtest

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// hungListener returns the address of a listener that never responds.
func hungListener(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// exportTo returns an option that makes a process export traces and metrics to an address.
func exportTo(protocol, address string) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+address, "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol)
	}
}

// A collector that is down, or that never responds, does not make a shutdown fail.
func TestAHungCollectorIsNoErrorOfAStop(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		for name, address := range map[string]string{"hung": hungListener(t), "refused": freeAddresses(t, 1)[0]} {
			t.Run(protocol+" "+name, func(t *testing.T) {
				t.Parallel()
				pool := pgtest.New(t, pgtest.MaxConns(4))
				g := newProcess(t, pool, "serve", quickAndSlow(newBlockedReceiver(t)))
				g.start(t, exportTo(protocol, address))
				g.deliverMany(t, "evt", 20)
				done(t, pool, 20)
				g.stop(t)
				require.Contains(t, g.log.String(), `"msg":"stopped"`)
			})
		}
	}
}

// hungResolver returns an option that makes a process look up names at a server that never
// responds. It skips the test if the process has no right to mount.
func hungResolver(t *testing.T) func(*exec.Cmd) {
	t.Helper()
	var server net.PacketConn
	var err error
	for host := 2; host < 250 && server == nil; host++ { // until an address is free
		server, err = net.ListenPacket("udp", fmt.Sprintf("127.53.53.%d:53", host))
	}
	if err != nil {
		t.Skipf("no name server can be started here: %s", err)
	}
	t.Cleanup(func() { _ = server.Close() })
	resolv := filepath.Join(t.TempDir(), "resolv.conf")
	address, _, err := net.SplitHostPort(server.LocalAddr().String())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(resolv, []byte("nameserver "+address+"\n"), 0o600))
	unshare := []string{"unshare", "-rm", "sh", "-c", `mount --bind "$0" /etc/resolv.conf && exec "$@"`, resolv}
	if output, err := exec.Command(unshare[0], append(unshare[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("no mount name space can be made here: %s", output)
	}
	return func(cmd *exec.Cmd) {
		cmd.Args = append(unshare, append([]string{cmd.Path}, cmd.Args[1:]...)...)
		path, err := exec.LookPath(unshare[0])
		require.NoError(t, err)
		cmd.Path = path
	}
}

// If name servers never respond, they block only the export of traces and metrics, and sources that
// fetch keys. Deliveries to other sources are answered, and a shutdown ends in time.
func TestAHungResolverHoldsNothingElse(t *testing.T) {
	t.Parallel()
	resolver := hungResolver(t)
	pool := pgtest.New(t, pgtest.MaxConns(4))
	g := newProcess(t, pool, "serve", quickAndSlow(newBlockedReceiver(t)))
	text, err := os.ReadFile(g.config)
	require.NoError(t, err)
	text = []byte(strings.Replace(string(text), "sources:\n", `sources:
  tokens: {provider: jwt, jwks_url: "https://keys.example.com/jwks.json", audience: "https://hooks.example.com/", event_id: {pointer: /id}}
  sns: {provider: aws-sns, secrets: ["arn:aws:sns:eu-west-1:123456789012:orders"]}
  pubsub: {provider: google-pubsub, audience: "https://hooks.example.com/", claims: {email: "push@project.iam.gserviceaccount.com"}}
`, 1))
	require.NoError(t, os.WriteFile(g.config, text, 0o600))
	g.start(t, exportTo("http/protobuf", "collector.example.com:4318"), resolver)

	encode := base64.RawURLEncoding.EncodeToString
	token := encode([]byte(`{"alg":"RS256","kid":"one"}`)) + "." +
		encode(fmt.Appendf(nil, `{"iss":"https://accounts.google.com","aud":"https://hooks.example.com/","email":"push@project.iam.gserviceaccount.com","email_verified":true,"iat":%d,"exp":%d}`,
			time.Now().Unix(), time.Now().Add(time.Hour).Unix())) + "." + encode(make([]byte, 256))
	sns := fmt.Sprintf(`{"Type":"Notification","MessageId":"22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324","TopicArn":"arn:aws:sns:eu-west-1:123456789012:orders",`+
		`"Message":"{}","Timestamp":"%s","SignatureVersion":"2","Signature":"%s","SigningCertURL":"https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0.pem"}`,
		time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), base64.StdEncoding.EncodeToString(make([]byte, 256)))
	waiting := make(chan string, 300)
	for i := range 30 {
		for source, body := range map[string]string{"tokens": `{"id":"x"}`, "sns": sns, "pubsub": `{"message":{"messageId":"1","data":"e30="}}`} {
			go func() {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/webhooks/"+source, strings.NewReader(body))
				if err != nil {
					waiting <- err.Error()
					return
				}
				request.Header.Set("Authorization", "Bearer "+token)
				request.Header.Set("X-Amz-Sns-Message-Type", "Notification")
				answer, err := g.client.Do(request)
				if err != nil {
					waiting <- fmt.Sprintf("%s %d: %s", source, i, err)
					return
				}
				_ = answer.Body.Close()
				if answer.StatusCode != http.StatusServiceUnavailable {
					waiting <- fmt.Sprintf("%s: %s", source, answer.Status)
					return
				}
				waiting <- ""
			}()
		}
	}
	g.deliverMany(t, "evt", 100)
	done(t, pool, 100)
	for range 90 {
		require.Empty(t, <-waiting, "the delivery must be answered in time, with an error of the gateway")
	}
	g.awaitReady(t)
	g.stop(t)
}

// A reload that reads an endless file does not delay a shutdown.
func TestAHungReloadDoesNotHoldAStop(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.MaxConns(4))
	g := newProcess(t, pool, "serve", quickAndSlow(newBlockedReceiver(t)))
	g.start(t)
	require.NoError(t, os.Remove(g.config))
	require.NoError(t, unix.Mkfifo(g.config, 0o600))
	require.NoError(t, g.cmd.Process.Signal(syscall.SIGHUP))
	opening := make(chan *os.File, 1)
	go func() { // OpenFile returns when the process opens the pipe
		file, _ := os.OpenFile(g.config, os.O_WRONLY, 0)
		opening <- file
	}()
	file := <-opening
	defer file.Close()
	g.deliverMany(t, "evt", 1)
	g.stop(t)
}
