package torture

import (
	"context"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/nemesis"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/internal/redisserver"
)

func (w *world) startRedis(ctx context.Context) (err error) {
	if !w.opts.Redis {
		return nil
	}
	if w.redis, err = redisserver.Start(ctx); err != nil {
		return err
	}
	w.OnStop("Redis", func(context.Context) error { return w.redis.Stop() })
	return nil
}

// mine returns the user's settings, with the Redis of the run, if any.
func (w *world) mine() scenario.Own {
	mine := w.opts.Mine
	if w.redis != nil {
		mine.Gateway = maps.Clone(mine.Gateway)
		if mine.Gateway == nil {
			mine.Gateway = map[string]any{}
		}
		mine.Gateway["seen_cache"] = map[string]any{"redis": w.redis.URL()}
	}
	return mine
}

func (w *world) redisFaults() []nemesis.Fault {
	if !w.opts.Redis {
		return nil
	}
	return []nemesis.Fault{
		{Kind: "redis_killed", Lane: nemesis.Redis, Fire: w.breakRedis("SIGKILL", (*redisserver.Server).Kill, func(s *redisserver.Server) error {
			return s.Restart(context.Background())
		})},
		{Kind: "redis_frozen", Lane: nemesis.Redis, Fire: w.breakRedis("SIGSTOP", (*redisserver.Server).Freeze, (*redisserver.Server).Thaw)},
		{Kind: "redis_emptied", Lane: nemesis.Redis, Fire: w.breakRedis("FLUSHALL", func(s *redisserver.Server) error {
			return s.Command(context.Background(), "FLUSHALL")
		}, nil)},
	}
}

// breakRedis returns a fault that calls the function begin and, after a random time, the function
// end, which may be nil.
func (w *world) breakRedis(detail string, begin, end func(s *redisserver.Server) error) fire {
	return func(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
		if err := begin(w.redis); err != nil {
			return err
		}
		struck("redis", detail)
		if end == nil {
			return nil
		}
		sleep(ctx, 100*time.Millisecond+upTo(rnd, 2*time.Second))
		return end(w.redis)
	}
}
