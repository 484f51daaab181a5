import { RecordReader } from '#libs/commands';
import { handlerOf, Operation, RecordInput } from '#libs/rpc';
import { activeMember, Team } from '../team/index.js';
import { notificationSettings, settingsIdOf } from './notification.js';
import { settingsRecord, settingsSchema } from './settings.js';

@Operation({
  name: 'notification.get-settings',
  object: 'settings',
  summary: 'Retrieve a member’s notification settings',
  description: 'Which emails a member gets about what happens in the organization.',
  answers: settingsSchema,
})
export class GetSettings extends RecordInput('memberId') {}

export const GetSettingsHandler = handlerOf(
  GetSettings,
  [RecordReader, Team],
  async ({ organizationId, memberId }, records, team) => {
    activeMember((await team.load(organizationId, memberId)).state);
    const found = await records.look(notificationSettings, organizationId, settingsIdOf(memberId));
    return settingsRecord(organizationId, memberId, found);
  },
);
