import { Inject, Injectable } from '@nestjs/common';
import { getStorageToken } from '@nestjs/throttler';
import { DataSource } from 'typeorm';
import { networkOf, type WindowStorage } from '#libs/rate-limit';

export type LinkClicks = { url: string; clicks: number };

/** A network counts once per link in this time, so a scanner that follows a link again is not counted again. */
const HOUR_MS = 3_600_000;

/** The links of broadcasts with `countClicks`, and how often they were followed. No one records who followed them. */
@Injectable()
export class Clicks {
  constructor(
    private readonly source: DataSource,
    @Inject(getStorageToken()) private readonly storage: WindowStorage,
  ) {}

  /** Stores the links before the first message leaves. */
  async store(organizationId: string, broadcastId: string, links: readonly string[]): Promise<void> {
    await this.source.query(
      `INSERT INTO broadcast_links (organization_id, broadcast_id, n, url)
       SELECT $1, $2, n, url FROM unnest($3::text[]) WITH ORDINALITY AS link(url, n)
       ON CONFLICT (broadcast_id, n) DO UPDATE SET url = excluded.url`,
      [organizationId, broadcastId, links],
    );
  }

  /** The links in their order, by the broadcasts that have any. */
  async of(
    organizationId: string,
    broadcastIds: readonly string[],
  ): Promise<ReadonlyMap<string, LinkClicks[]>> {
    const rows = await this.source.query<{ id: string; links: LinkClicks[] }[]>(
      `SELECT broadcast_id AS id, json_agg(json_build_object('url', url, 'clicks', clicks) ORDER BY n) AS links
       FROM broadcast_links WHERE organization_id = $1 AND broadcast_id = ANY ($2::uuid[]) GROUP BY broadcast_id`,
      [organizationId, broadcastIds],
    );
    return new Map(rows.map(({ id, links }) => [id, links]));
  }

  /**
   * The address that a link leads to; undefined if there is no such link.
   *
   * @param address of the client. undefined: the click is not counted.
   */
  async follow(broadcastId: string, n: number, address: string | undefined): Promise<string | undefined> {
    const link = [broadcastId, n];
    const [row] = await this.source.query<{ url: string }[]>(
      'SELECT url FROM broadcast_links WHERE broadcast_id = $1 AND n = $2',
      link,
    );
    // Only links that exist are remembered, because anyone can request any number of others.
    if (row && address !== undefined && (await this.isFirst(link.join(':'), address)))
      await this.source.query(
        'UPDATE broadcast_links SET clicks = clicks + 1 WHERE broadcast_id = $1 AND n = $2',
        link,
      );
    return row?.url;
  }

  private async isFirst(link: string, address: string): Promise<boolean> {
    const [clicks] = await this.storage.accept(
      [{ key: `click:${link}:${networkOf(address)}`, limit: 1 }],
      HOUR_MS,
    );
    return !clicks!.isBlocked;
  }
}
