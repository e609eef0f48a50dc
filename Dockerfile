# syntax=docker/dockerfile:1

FROM golang:1.26-alpine AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /hooklatch ./cmd/hooklatch

# Alpine, not scratch: certificates, time zones and the wget of the health checks.
FROM alpine:3.22
RUN apk add --no-cache ca-certificates tzdata && adduser -S -D -H -u 10001 hooklatch
COPY --from=build /hooklatch /usr/local/bin/hooklatch
USER 10001
EXPOSE 8080 8081
ENTRYPOINT ["hooklatch"]
CMD ["serve"]
