# SPDX-License-Identifier: Apache-2.0
# What is fuzzed: by libFuzzer here, by the seeds alone in tests/unit.
#   HEADWAY_FUZZ_TARGETS   NAME_fuzz.cc and corpus/NAME
#   HEADWAY_FORMATS        the readers of files, with the sources that they need of userspace/
#   HEADWAY_MEASURED       the readers of what measure writes and agents say
set(HEADWAY_FUZZ_TARGETS agent byteclock fitted_file goal_schedule handed_state hostlist job_table matrix_csv matrix_json measured
    netlink_reply open_mpi_monitoring protocol recording_json simgrid_platform simgrid_trace slurm_topology store_link
    topology_toml)
set(HEADWAY_FORMATS base/file_error base/host_name base/hostlist base/ip_prefix base/json base/text_lines base/units
    config/network_file config/toml_reader config/topology_toml config/topology_toml_tables
    models/plogpt_program network/network_items network/network_tree network/topology study/traffic_matrix
    study/cable_graph study/collective_messages study/file_mistakes study/goal_order study/goal_schedule study/link_routes
    study/matrix_csv study/matrix_json study/network_alltoall study/open_mpi_monitoring study/open_mpi_rules
    study/program_builder study/recording_json study/simgrid_cluster study/simgrid_platform study/simgrid_platform_writer
    study/simgrid_trace study/simgrid_units study/slurm_lines study/slurm_switches study/slurm_topology
    study/slurm_topology_writer
    study/topology_drawing study/topology_svg study/written_topology)
list(TRANSFORM HEADWAY_FORMATS PREPEND ${CMAKE_CURRENT_LIST_DIR}/../../userspace/)
list(TRANSFORM HEADWAY_FORMATS APPEND .cpp)
set(HEADWAY_MEASURED measure/agent_messages measure/host_tree measure/measured_record measure/network_difference)
list(TRANSFORM HEADWAY_MEASURED PREPEND ${CMAKE_CURRENT_LIST_DIR}/../../userspace/)
list(TRANSFORM HEADWAY_MEASURED APPEND .cpp)
