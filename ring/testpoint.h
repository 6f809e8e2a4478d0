/*
 * testpoint.h - named places where a test may stop or kill the process.
 *
 * Compiled to nothing unless SLUICE_TESTPOINTS is defined.  In a test build the
 * environment variable SLUICE_TESTPOINT="NAME:COUNT:ACTION" fires the action
 * at the COUNT-th passage of NAME: "kill" (SIGKILL) or "stop" (SIGSTOP);
 * SLUICE_TESTPOINT_TRACE=FILE appends the name of each point that is passed.
 */
#ifndef SLUICE_RING_TESTPOINT_H
#define SLUICE_RING_TESTPOINT_H

#ifdef SLUICE_TESTPOINTS
void testpoint_pass(const char *name);
#define TESTPOINT(name) testpoint_pass(name)
#else
#define TESTPOINT(name) ((void)0)
#endif

#endif
