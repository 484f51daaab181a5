import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type Projection, schemaOf } from '#libs/projections';
import { type ApiKeyEvent, type RateLimit } from './api-key.js';

export const apiKeysProjection: Projection<ApiKeyEvent> = {
  name: 'api-keys',
  version: 1,
  handles: ['ApiKeyCreated', 'ApiKeyRevoked'],
  tables: `
    CREATE TABLE api_keys (
      organization_id uuid           NOT NULL,
      id              uuid           NOT NULL,
      created_at      timestamptz(3) NOT NULL,
      name            text           NOT NULL,
      public_id       text           NOT NULL,
      secret_hash     bytea          NOT NULL,
      scopes          text[]         NOT NULL,
      rate_limit      jsonb,
      expires_at      timestamptz(3),
      revoked_at      timestamptz(3),
      PRIMARY KEY (organization_id, id)
    );
    -- Not by organization first: which one it is, is what the lookup finds out.
    CREATE INDEX api_keys_by_public_id ON api_keys (public_id);
  `,

  // One statement per event: keys are made and revoked by hand, not by the thousand.
  async apply(events, transaction) {
    for (const event of events) {
      const { organizationId, streamId, recordedAt } = event;
      switch (event.type) {
        case 'ApiKeyCreated': {
          const { name, publicId, secretHash, scopes, rateLimit, expiresAt } = event.data;
          await transaction.query(
            `INSERT INTO api_keys (organization_id, id, created_at, name, public_id, secret_hash, scopes,
                                   rate_limit, expires_at)
             VALUES ($1, $2, $3, $4, $5, decode($6, 'hex'), $7, $8, $9)`,
            [
              organizationId,
              streamId,
              recordedAt,
              name,
              publicId,
              secretHash,
              scopes,
              JSON.stringify(rateLimit),
              expiresAt,
            ],
          );
          break;
        }
        case 'ApiKeyRevoked':
          await transaction.query(
            'UPDATE api_keys SET revoked_at = $3 WHERE organization_id = $1 AND id = $2',
            [organizationId, streamId, recordedAt],
          );
      }
    }
  },
};

export type StoredKey = {
  id: string;
  organization_id: string;
  secret_hash: Buffer;
  scopes: string[];
  rate_limit: RateLimit;
  expires_at: Date | null;
  revoked_at: Date | null;
};

@Injectable()
export class ApiKeysTable {
  constructor(private readonly source: DataSource) {}

  /** All keys with this public id: one, but for a chance of 1 in 10^14. */
  async findByPublicId(publicId: string): Promise<StoredKey[]> {
    return await this.source.query<StoredKey[]>(
      `SELECT id, organization_id, secret_hash, scopes, rate_limit, expires_at, revoked_at
       FROM ${schemaOf(apiKeysProjection)}.api_keys WHERE public_id = $1`,
      [publicId],
    );
  }
}
