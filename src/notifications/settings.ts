import { type FieldSchema, recordSchema, recordVersion } from '#libs/rpc';
import { type Notification, NOTIFICATIONS, type NotificationSettings } from './notification.js';

/** The settings of a member, as the API returns them. */
export type SettingsRecord = { memberId: string; version: number } & NotificationSettings & {
    organizationId: string;
  };

export const DESCRIPTIONS: Record<Notification, string> = {
  firstSignature: 'A petition received its first signature.',
  goalReached: 'A petition reached its goal.',
  commentWaiting: 'Comments await approval. At most one email a day for each petition.',
  broadcastFinished: 'An email was sent to all recipients, or a scheduled one could not be sent.',
  webhookDisabled: 'A webhook was disabled because its endpoint did not accept events.',
  weeklySummary: 'A summary of the past week, sent on Mondays unless nothing happened.',
};

export const settingsSchema: FieldSchema = recordSchema({
  memberId: { type: 'string' },
  version: recordVersion,
  ...Object.fromEntries(
    NOTIFICATIONS.map((name) => [name, { type: 'boolean', description: DESCRIPTIONS[name] }]),
  ),
  organizationId: { type: 'string' },
});

export function settingsRecord(
  organizationId: string,
  memberId: string,
  { state, version }: { state: NotificationSettings; version: number },
): SettingsRecord {
  return { memberId, version, ...state, organizationId };
}
