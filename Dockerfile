# syntax=docker/dockerfile:1

FROM golang:1.26.8-alpine AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
# The tag or commit it is built from: docker build --build-arg VERSION=$(git describe --tags --always --dirty) .
ARG VERSION
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -ldflags="-s -w -X main.version=${VERSION}" -o /hooklatch ./cmd/hooklatch

# Alpine, not scratch: certificates, time zones and the wget of the health checks.
FROM alpine:3.22.2
RUN apk add --no-cache ca-certificates tzdata && adduser -S -D -H -u 10001 hooklatch
COPY --from=build /hooklatch /usr/local/bin/hooklatch
USER 10001
EXPOSE 8080 8081
ENTRYPOINT ["hooklatch"]
# Mount the configuration there: -v ./hooklatch.yaml:/etc/hooklatch/hooklatch.yaml:ro
CMD ["serve", "--config", "/etc/hooklatch/hooklatch.yaml"]
