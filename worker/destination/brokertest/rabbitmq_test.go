package brokertest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// rabbitProgram is the server itself. The program of the same name on PATH works only for the
// service's own user.
const rabbitProgram = "/usr/lib/rabbitmq/bin/rabbitmq-server"

// rabbitServer is Debian's RabbitMQ as a process of the test, with its own folder, ports and epmd.
type rabbitServer struct {
	dir     string
	address string
	env     []string
	process *exec.Cmd
}

func newRabbitMQ(t *testing.T) *rabbitServer {
	t.Helper()
	if _, err := os.Stat(rabbitProgram); err != nil {
		t.Skip("RabbitMQ is not installed: apt-get install rabbitmq-server")
	}
	free, err := freeport.Addresses(3)
	require.NoError(t, err)
	port := func(address string) string {
		_, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		return port
	}
	r := &rabbitServer{dir: t.TempDir(), address: free[0]}
	in := func(name string) string { return filepath.Join(r.dir, name) }
	r.env = append(os.Environ(),
		"HOME="+r.dir, "ERL_EPMD_ADDRESS=127.0.0.1", "ERL_EPMD_PORT="+port(free[1]),
		"RABBITMQ_NODENAME=hooklatch@localhost", "RABBITMQ_NODE_IP_ADDRESS=127.0.0.1", "RABBITMQ_NODE_PORT="+port(free[0]), "RABBITMQ_DIST_PORT="+port(free[2]),
		"RABBITMQ_MNESIA_BASE="+in("mnesia"), "RABBITMQ_LOG_BASE="+in("log"), "RABBITMQ_PID_FILE="+in("pid"), "RABBITMQ_LOGS=-",
		"RABBITMQ_CONFIG_FILE="+in("rabbitmq"), "RABBITMQ_CONF_ENV_FILE="+in("env"), "RABBITMQ_ENABLED_PLUGINS_FILE="+in("plugins"),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=+S 1:1 +sbwt none -kernel inet_dist_use_interface {127,0,0,1}",
	)
	r.write(t, "rabbitmq.conf", fmt.Sprintf("load_definitions = %s\nmax_message_size = %d\n", in("definitions.json"), maxPayload))
	r.write(t, "plugins", "[].")
	r.write(t, "env", "")
	definitions, err := json.Marshal(map[string]any{
		"vhosts": []any{map[string]any{"name": "/"}},
		"users": []any{
			map[string]any{"name": "admin", "password_hash": passwordHash("admin"), "tags": "administrator"},
			map[string]any{"name": user, "password_hash": passwordHash(password), "tags": ""},
		},
		"permissions": []any{
			map[string]any{"user": "admin", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"},
			map[string]any{"user": user, "vhost": "/", "configure": "", "write": "^(events|missing|amq.default|full)$", "read": ""},
		},
		"exchanges": []any{map[string]any{"name": "events", "vhost": "/", "type": "direct", "durable": true, "auto_delete": false, "internal": false, "arguments": map[string]any{}}},
		"queues": []any{
			map[string]any{"name": "paid", "vhost": "/", "durable": true, "auto_delete": false, "arguments": map[string]any{}},
			map[string]any{"name": "full", "vhost": "/", "durable": true, "auto_delete": false, "arguments": map[string]any{"x-max-length": 1, "x-overflow": "reject-publish"}},
		},
		"bindings": []any{map[string]any{"source": "events", "vhost": "/", "destination": "paid", "destination_type": "queue", "routing_key": "paid", "arguments": map[string]any{}}},
	})
	require.NoError(t, err)
	r.write(t, "definitions.json", string(definitions))

	// Without this epmd, the server would start its own, which would outlive the server.
	epmd := exec.CommandContext(t.Context(), "epmd", "-port", port(free[1]), "-address", "127.0.0.1")
	require.NoError(t, epmd.Start())
	t.Cleanup(func() { _ = epmd.Process.Kill(); _ = epmd.Wait() })
	r.start(t)
	t.Cleanup(func() { r.kill(t) })
	return r
}

func (r *rabbitServer) write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600))
}

// passwordHash returns the form in which RabbitMQ stores a password.
func passwordHash(password string) string {
	salt := []byte("salt")
	sum := sha256.Sum256(append(salt, password...))
	return base64.StdEncoding.EncodeToString(append(salt, sum[:]...))
}

func (r *rabbitServer) server() string { return r.address }

func (r *rabbitServer) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(r.dir, "log.txt"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer log.Close()
	r.process = exec.Command(rabbitProgram)
	r.process.Env, r.process.Dir, r.process.Stdout, r.process.Stderr = r.env, r.dir, log, log
	r.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that kill also reaches its children
	require.NoError(t, r.process.Start())
	for deadline := time.Now().Add(2 * time.Minute); ; {
		if conn, err := amqp.Dial("amqp://admin:admin@" + r.address + "/"); err == nil {
			// RabbitMQ listens before it has loaded the queues.
			channel, err := conn.Channel()
			require.NoError(t, err)
			_, err = channel.QueueDeclarePassive("full", true, false, false, false, nil)
			_ = conn.Close()
			if err == nil {
				return
			}
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("RabbitMQ does not start:\n%s", text)
		}
		<-time.After(100 * time.Millisecond)
	}
}

func (r *rabbitServer) kill(*testing.T) {
	_ = syscall.Kill(-r.process.Process.Pid, syscall.SIGKILL)
	_ = r.process.Wait()
}

func (r *rabbitServer) sender(o destination.BrokerOptions) (sender, error) {
	return destination.NewRabbitMQ(destination.RabbitMQOptions{BrokerOptions: o, Exchange: "events", RoutingKey: "paid"})
}

// stored reads all messages and puts them back.
func (r *rabbitServer) stored(t *testing.T) []stored {
	t.Helper()
	conn, err := amqp.Dial("amqp://admin:admin@" + r.address + "/")
	require.NoError(t, err)
	defer conn.Close()
	channel, err := conn.Channel()
	require.NoError(t, err)
	var all []stored
	for {
		d, ok, err := channel.Get("paid", false)
		require.NoError(t, err)
		if !ok {
			return all
		}
		header := http.Header{"Content-Type": {d.ContentType}}
		for name, value := range d.Headers {
			header.Set(name, fmt.Sprint(value))
		}
		require.Equal(t, amqp.Persistent, d.DeliveryMode)
		all = append(all, stored{key: d.MessageId, body: string(d.Body), header: header})
	}
}

func TestRabbitMQ(t *testing.T) { //nolint:paralleltest // a suite counts goroutines and kills its broker
	b, f := newRabbitMQ(t), facts{unroutable: "nobody"}
	suite(t, b, f)
	policies(t, b, f)
	onlyRabbitMQ(t, b)
}

// onlyRabbitMQ runs the cases that no other broker has.
func onlyRabbitMQ(t *testing.T, b *rabbitServer) {
	t.Helper()
	to := func(t *testing.T, exchange, key string) sender {
		o := options(b)
		s, err := destination.NewRabbitMQ(destination.RabbitMQOptions{BrokerOptions: o, Exchange: exchange, RoutingKey: key})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	t.Run("exchanges that it cannot publish to", func(t *testing.T) {
		for exchange, want := range map[string]string{"missing": "the exchange does not exist", "amq.topic": "the user may not publish to the exchange"} {
			out := to(t, exchange, "paid").Send(t.Context(), newEffect())
			requireVerdict(t, ledger.VerdictTurnedAway, out)
			require.EqualError(t, out.Err, want)
			require.Contains(t, out.Excerpt, exchange)
		}
	})
	t.Run("encryption", func(t *testing.T) { encrypted(t, b) })
	t.Run("the default exchange", func(t *testing.T) {
		e := newEffect()
		requireVerdict(t, ledger.VerdictDone, to(t, "", "paid").Send(t.Context(), e))
		require.Len(t, of(t, b, e), 1)
	})
	t.Run("a queue that rejects it", func(t *testing.T) {
		s := to(t, "", "full")
		requireVerdict(t, ledger.VerdictDone, s.Send(t.Context(), newEffect()))
		out := s.Send(t.Context(), newEffect())
		requireVerdict(t, ledger.VerdictMaybeApplied, out)
		require.EqualError(t, out.Err, "a queue of the exchange rejected the message")
	})
	t.Run("texts that AMQP cannot carry", func(t *testing.T) {
		e := newEffect()
		e.Request.ContentType = fmt.Sprintf("%0256d", 1)
		requireVerdict(t, ledger.VerdictRefused, with(t, b).Send(t.Context(), e))
	})
}
