import { Commands } from '#libs/commands';
import { Flag, handlerOf, Operation, RecordInput } from '#libs/rpc';
import { activeMember, Team } from '../team/index.js';
import { changeSettings, notificationSettings, settingsIdOf } from './notification.js';
import { DESCRIPTIONS, settingsRecord, settingsSchema } from './settings.js';

@Operation({
  name: 'notification.update-settings',
  object: 'settings',
  isConditional: true,
  summary: 'Update a member’s notification settings',
  description:
    'Changes only the fields you send. All notifications are on by default, but members only get those about ' +
    'records that their role may see. In the dashboard, members choose for themselves.',
  answers: settingsSchema,
})
export class UpdateSettings extends RecordInput('memberId') {
  @Flag({ optional: true, description: DESCRIPTIONS.firstSignature })
  firstSignature?: boolean;

  @Flag({ optional: true, description: DESCRIPTIONS.goalReached })
  goalReached?: boolean;

  @Flag({ optional: true, description: DESCRIPTIONS.commentWaiting })
  commentWaiting?: boolean;

  @Flag({ optional: true, description: DESCRIPTIONS.broadcastFinished })
  broadcastFinished?: boolean;

  @Flag({ optional: true, description: DESCRIPTIONS.webhookDisabled })
  webhookDisabled?: boolean;

  @Flag({ optional: true, description: DESCRIPTIONS.weeklySummary, example: false })
  weeklySummary?: boolean;
}

export const UpdateSettingsHandler = handlerOf(
  UpdateSettings,
  [Commands, Team],
  async (command, commands, team) => {
    const { organizationId, memberId, context: _, ...given } = command;
    const changed = await commands.change(
      notificationSettings,
      command,
      settingsIdOf(memberId),
      (before) => changeSettings(before, memberId, given),
      async () => {
        const { state, version } = await team.load(organizationId, memberId);
        activeMember(state);
        // No settings of a member who has just been removed.
        return { guards: [{ streamId: memberId, version }] };
      },
    );
    return settingsRecord(organizationId, memberId, changed);
  },
);
