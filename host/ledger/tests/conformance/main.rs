//! What every store must do, shown on each: the same cases on SQLite and on a
//! real PostgreSQL.
//!
//! A case is a function of the store that it is shown on; its name is the
//! sentence that it proves. What one store alone does stands beside this suite,
//! in tests of its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a test fails by panicking, and no test is anyone's library"
)]

#[path = "../support/mod.rs"]
mod support;

mod accepting;
mod attempts;
mod blinded;
mod failing;
mod keeping;
mod racing;
mod recovering;
mod rounds;

/// Makes a test of each case for each store.
macro_rules! on_each_store {
    ($($room:ident: $($case:ident)*;)*) => {
        mod sqlite {
            use crate::support::Kept;
            $(mod $room { $(#[test] fn $case() { crate::$room::$case(super::Kept::Sqlite) })* })*
        }
        mod postgres {
            use crate::support::Kept;
            $(mod $room { $(#[test] fn $case() { crate::$room::$case(super::Kept::Postgres) })* })*
        }
    };
}

on_each_store! {
    accepting: what_follows_an_accepted_rollback_is_signed_and_anchored
        a_permit_counts_only_where_the_store_holds_what_it_was_given_for
        who_lives_is_not_said_to_have_sent_nothing_because_its_store_went_back;
    attempts: a_call_is_reserved_settled_and_from_then_on_replayed
        what_was_changed_under_a_known_identifier_is_a_collision_and_names_the_difference
        only_what_was_never_sent_may_be_tried_under_a_new_identifier
        a_token_that_is_dropped_settles_by_what_its_gate_saw_and_lets_nothing_out_after
        a_denial_reserves_nothing_and_is_in_the_log
        an_attempt_without_identifier_has_a_row_that_nobody_meets
        a_decision_made_under_another_policy_or_catalog_is_made_again
        an_agent_whose_quota_is_used_up_is_refused_and_others_are_not
        an_entry_that_nobody_could_read_back_is_not_written
        what_was_reserved_can_be_ended_however_long_its_entry_is
        each_selection_of_entries_gives_what_it_names;
    blinded: entries_hold_what_the_rows_salt_opens_and_the_row_keeps_what_was_admitted
        an_execution_is_blinded_for_good_or_never_whatever_is_configured_later
        without_randomness_nothing_is_reserved_under_blinding;
    rounds: a_round_is_claimed_once_and_a_lost_question_is_given_again
        a_state_that_was_issued_to_another_agent_is_unknown
        a_state_that_is_issued_in_the_same_commit_is_known_to_its_agent_alone
        a_task_survives_its_owner_and_ends_in_an_outcome
        a_question_that_nobody_will_answer_is_not_kept
        a_claim_survives_a_restart_and_its_state_stays_bound_to_its_agent;
    racing: of_64_that_race_for_one_identifier_one_is_fresh_and_every_refusal_is_in_the_log
        one_round_that_many_answer_is_claimed_once
        requests_that_wait_together_share_a_commit
        a_full_queue_turns_away_at_once_and_one_agent_cannot_fill_it;
    failing: a_group_that_fails_at_or_before_its_commit_leaves_nothing_and_settles_later
        an_acknowledgement_that_was_lost_is_read_back
        a_reservation_that_cannot_be_read_back_is_given_up_and_settled_as_never_sent
        a_settlement_in_doubt_is_made_once
        an_outcome_that_cannot_be_written_keeps_no_other_from_it
        an_answer_that_cannot_be_kept_is_let_go_before_its_outcome_is
        a_writer_that_panics_lets_nobody_wait_and_says_that_it_is_over;
    keeping: an_answer_is_kept_with_its_settlement_until_its_time_is_up_and_through_a_restart
        what_did_not_settle_with_an_answer_keeps_none
        what_is_beyond_the_bounds_goes_the_first_to_expire_first
        what_asked_for_rounds_beyond_the_bounds_goes_the_oldest_first;
    recovering: what_an_earlier_incarnation_left_in_flight_is_blocked_and_never_fresh
        an_attempt_without_identifier_gets_its_terminal_entry_at_recovery
        an_operator_moves_a_blocked_execution_to_an_outcome_and_it_stays_used
        nobody_but_a_dead_owner_can_be_said_to_have_sent_nothing
        an_owner_that_was_fenced_settles_nothing_and_its_answer_is_kept
        checkpoints_are_cut_while_entries_arrive_and_before_an_export
        a_database_that_was_restored_from_a_backup_admits_nothing
        a_restored_database_admits_again_once_an_operator_has_accepted_it_with_an_entry
        a_restored_database_that_grew_again_is_still_found_out
        a_store_that_goes_back_behind_a_connection_that_holds_writes_nothing_more
        what_was_lost_settles_nothing_that_was_admitted_after_it_was_accepted
        an_anchor_that_cannot_be_written_stops_admission_until_it_can
        an_explanation_never_says_more_than_the_record_holds;
}
