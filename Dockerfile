# syntax=docker/dockerfile:1

# This file is for users who build the image themselves. The released image has the same content;
# .ci/image assembles it from the released binaries.
FROM golang:1.26.8-alpine AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
# VERSION is the tag or commit of the source:
#   docker build --build-arg VERSION=$(git describe --tags --always --dirty) .
ARG VERSION
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -ldflags="-s -w -X main.version=${VERSION}" -o /image/usr/bin/hooklatch ./cmd/hooklatch
RUN install -D -m 644 .tools/image/passwd /image/etc/passwd && \
    install -D -m 644 cmd/hooklatch/licenses.txt /image/licenses/LICENSES.txt && \
    install -d -m 1777 /image/tmp

# The image contains little more than the program, which includes certificates and time zones.
FROM scratch
COPY --from=build /image /
ENV PATH=/usr/bin
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["hooklatch"]
# Mount the configuration at the path below: -v ./hooklatch.yaml:/etc/hooklatch/hooklatch.yaml:ro
CMD ["serve", "--config", "/etc/hooklatch/hooklatch.yaml"]
