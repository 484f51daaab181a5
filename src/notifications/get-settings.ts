import { RecordReader } from '#libs/commands';
import { handlerOf, Operation, PastInput, PastRecord } from '#libs/rpc';
import { Team } from '../team/index.js';
import { notificationSettings, settingsIdOf } from './notification.js';
import { settingsRecord, settingsSchema } from './settings.js';
import { requireTheirs } from './their-settings.js';

@Operation({
  name: 'notification.get-settings',
  object: 'settings',
  summary: 'Retrieve a member’s notification settings',
  description:
    'Which emails a member gets about what happens in the organization. Members can only retrieve their own settings, unless they ' +
    'may change the team. API keys can retrieve those of every member.',
  answers: settingsSchema,
  reasons: ['NOT_YOUR_SETTINGS'],
})
export class GetSettings extends PastInput('memberId', 'settings') {}

export const GetSettingsHandler = handlerOf(
  GetSettings,
  [RecordReader, Team],
  async (query, records, team) => {
    const { organizationId, memberId, context, asOf } = query;
    requireTheirs(context, (await team.load(organizationId, memberId)).state);
    const past = await records.past(asOf);
    const found = await records.look(notificationSettings, organizationId, settingsIdOf(memberId), past);
    const record = settingsRecord(organizationId, memberId, found);
    return past ? new PastRecord(record, past) : record;
  },
);
