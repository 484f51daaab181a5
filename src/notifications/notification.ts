import { createHash } from 'node:crypto';
import { changedFields } from '#libs/commands';
import { type Decider, streamIdOf } from '#libs/event-store';
import { hasScope } from '#libs/rpc';
import { type Role, scopesOf } from '../team/index.js';

/** What members are notified about by email, and the scope that their role needs for it. */
const NEEDS = {
  firstSignature: 'petition:read',
  goalReached: 'petition:read',
  commentWaiting: 'petition:write',
  broadcastFinished: 'broadcast:read',
  webhookDisabled: 'webhook:write',
  weeklySummary: 'petition:read',
} as const;

export type Notification = keyof typeof NEEDS;
export const NOTIFICATIONS = Object.keys(NEEDS) as Notification[];

/** Whether a member wants each notification. */
export type NotificationSettings = Record<Notification, boolean>;

export type NotificationSettingsEvent = {
  type: 'NotificationSettingsChanged';
  data: { memberId: string } & Partial<NotificationSettings>;
};

/** The choices of one member, in a stream next to their own. Everything is on until they turn it off. */
export const notificationSettings: Decider<NotificationSettings, NotificationSettingsEvent> = {
  streamType: 'notification-settings',
  initial: Object.fromEntries(NOTIFICATIONS.map((name) => [name, true])) as NotificationSettings,
  events: { NotificationSettingsChanged: true },
  evolve: (state, { data: { memberId: _, ...changed } }) => ({ ...state, ...changed }),
};

/** Derived from the member's id. */
export function settingsIdOf(memberId: string): string {
  return streamIdOf(createHash('sha256').update(`notification-settings ${memberId}`).digest());
}

export function changeSettings(
  state: NotificationSettings,
  memberId: string,
  given: Partial<NotificationSettings>,
): NotificationSettingsEvent[] {
  const data = changedFields(state, given);
  return data ? [{ type: 'NotificationSettingsChanged', data: { memberId, ...data } }] : [];
}

/** The notifications that members with this role can get. */
export function notificationsFor(role: Role): Notification[] {
  return NOTIFICATIONS.filter((name) => hasScope(scopesOf(role), NEEDS[name]));
}
