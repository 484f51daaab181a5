import { Injectable } from '@nestjs/common';
import { EventStore, readSignedIds, signIds } from '#libs/event-store';
import { PublicAddress } from '../config/index.js';
import { type Notification, NOTIFICATIONS } from './notification.js';

export type OffLink = { notification: Notification; organizationId: string; memberId: string };

/** The links in notifications that turn them off without signing in. */
@Injectable()
export class OffLinks {
  constructor(
    private readonly store: EventStore,
    private readonly address: PublicAddress,
  ) {}

  urlOf({ notification, organizationId, memberId }: OffLink): string {
    const token = signIds(this.store.keyring, purposeOf(notification), [organizationId, memberId]);
    return `${this.address.url}/dashboard/notifications/${notification}/${token}`;
  }

  /** Undefined if the token was not issued here for this notification. */
  read(name: string, token: string): OffLink | undefined {
    const notification = NOTIFICATIONS.find((one) => one === name);
    const ids = notification && readSignedIds(this.store.keyring, purposeOf(notification), 2, token);
    return ids && { notification, organizationId: ids[0]!, memberId: ids[1]! };
  }
}

function purposeOf(notification: Notification): string {
  return `turn off ${notification}`;
}
