package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// errUnknownPath and errKeptPrefix explain in the log why no source was found.
var (
	errUnknownPath = errors.New("sources are at /webhooks/{source}")
	errKeptPrefix  = errors.New("the path begins with the path of public_url: the proxy in front must remove that prefix")
)

// observeUnknownPath logs and counts a request to a path that belongs to no source.
func (g *Gateway) observeUnknownPath(c echo.Context) {
	r := &refusal{status: http.StatusNotFound, result: resultUnknownSource, reason: "unknown_path", cause: errUnknownPath}
	if public := g.opts.PublicURL; public != nil {
		prefix := strings.TrimSuffix(public.Path, "/")
		if prefix != "" && strings.HasPrefix(c.Request().URL.Path, prefix+"/") {
			r.cause = errKeptPrefix
		}
	}
	ctx := context.WithoutCancel(c.Request().Context())
	g.meters.refused(ctx, nil, r, 0)
	g.nowhere.refused(r.reason)
	g.log.refused(ctx, nil, c, r)
}
