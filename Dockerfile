# syntax=docker/dockerfile:1

# For those who build the image themselves. The released image has the same content; .ci/image
# assembles it from the released binaries.
FROM golang:1.26.8-alpine AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
# The tag or commit it is built from: docker build --build-arg VERSION=$(git describe --tags --always --dirty) .
ARG VERSION
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -ldflags="-s -w -X main.version=${VERSION}" -o /image/usr/bin/hooklatch ./cmd/hooklatch
RUN install -D -m 644 .tools/image/passwd /image/etc/passwd && \
    install -D -m 644 cmd/hooklatch/licenses.txt /image/licenses/LICENSES.txt && \
    install -d -m 1777 /image/tmp

# Nothing but the program: certificates and time zones are in it.
FROM scratch
COPY --from=build /image /
ENV PATH=/usr/bin
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["hooklatch"]
# Mount the configuration there: -v ./hooklatch.yaml:/etc/hooklatch/hooklatch.yaml:ro
CMD ["serve", "--config", "/etc/hooklatch/hooklatch.yaml"]
