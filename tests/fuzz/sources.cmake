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
    network/measured_document network/measured_document_writer network/network_items
    network/network_tree network/topology models/network_alltoall models/plogpt_program
    formats/cable_graph formats/collective_messages formats/file_mistakes formats/goal_order
    formats/goal_schedule formats/link_routes formats/matrix_csv formats/matrix_json
    formats/open_mpi_monitoring formats/open_mpi_rules formats/program_builder
    formats/recording_json formats/simgrid_cluster formats/simgrid_platform formats/simgrid_platform_writer
    formats/simgrid_trace formats/simgrid_units formats/slurm_lines formats/slurm_switches
    formats/slurm_topology formats/slurm_topology_writer formats/traffic_matrix
    formats/written_topology cli/topology_drawing cli/topology_svg)
list(TRANSFORM HEADWAY_FORMATS PREPEND ${CMAKE_CURRENT_LIST_DIR}/../../userspace/)
list(TRANSFORM HEADWAY_FORMATS APPEND .cpp)
set(HEADWAY_MEASURED measure/agent_messages measure/host_tree measure/network_difference)
list(TRANSFORM HEADWAY_MEASURED PREPEND ${CMAKE_CURRENT_LIST_DIR}/../../userspace/)
list(TRANSFORM HEADWAY_MEASURED APPEND .cpp)
