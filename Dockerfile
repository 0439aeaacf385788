# syntax=docker/dockerfile:1
# One static binary that runs as nobody. Build: docker build --build-arg VERSION=1.2.3 .

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN scripts/dist /out/fanline

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/fanline /fanline
USER 65534:65534
EXPOSE 8080 9090
# Ready: Postgres is reached and its tables are this release's.
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s --retries=3 CMD ["/fanline", "check", "--instance", "http://127.0.0.1:8080"]
ENTRYPOINT ["/fanline"]
CMD ["serve"]
